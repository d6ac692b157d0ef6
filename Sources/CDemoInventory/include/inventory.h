// The demo shop's inventory: the kind of old C code that many servers link.
#ifndef INVENTORY_H
#define INVENTORY_H

#include <stdint.h>

typedef struct inventory_shelf inventory_shelf;

// The shelf that holds an item, or NULL.
inventory_shelf *inventory_find(int64_t item);

// Takes items from a shelf and returns how many are left.
int64_t inventory_reserve(inventory_shelf *shelf, int64_t quantity);

#endif
