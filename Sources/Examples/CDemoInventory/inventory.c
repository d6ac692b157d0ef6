#include "inventory.h"

#include <stddef.h>

struct inventory_shelf {
  int64_t item;
  int64_t stock;
};

static inventory_shelf shelves[] = {{1, 40}, {2, 12}, {3, 7}};

inventory_shelf *inventory_find(int64_t item) {
  for (size_t i = 0; i < sizeof shelves / sizeof shelves[0]; i++) {
    if (shelves[i].item == item) return &shelves[i];
  }
  return NULL;
}

void inventory_restock(inventory_shelf *shelf, int64_t stock) {
  shelf->stock = stock; // fault: null-write
}
