// The demo shop's inventory, which represents the old C code that many servers link.
#ifndef INVENTORY_H
#define INVENTORY_H

#include <stdint.h>

typedef struct inventory_shelf inventory_shelf;

// Returns the shelf that holds an item, or NULL.
inventory_shelf *inventory_find(int64_t item);

// Records the number of items on a shelf after a delivery.
void inventory_restock(inventory_shelf *shelf, int64_t stock);

#endif
