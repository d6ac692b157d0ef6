// The demo shop's inventory: the kind of old C code that many servers link.
#ifndef INVENTORY_H
#define INVENTORY_H

#include <stdint.h>

typedef struct inventory_shelf inventory_shelf;

// The shelf that holds an item, or NULL.
inventory_shelf *inventory_find(int64_t item);

// Notes how many items a shelf holds after a delivery.
void inventory_restock(inventory_shelf *shelf, int64_t stock);

#endif
