// Selects the slot for an object: the next one of the class's queue or, for one object in twenty, a random slot of the
// sampled ones (the explorer).
#ifndef CS_QUARANTINE_TURN_H
#define CS_QUARANTINE_TURN_H

#include "../Table/class.h"

#pragma GCC visibility push(hidden)

// The slot of an object whose turn is not below the bound: one of the explorer's, or the first of a new round. Returns
// NULL if the fast path is closed.
cs_slot *cs_queue_turn(cs_class *class, uintptr_t turn) __attribute__((noinline));
CS_SELDOM cs_slot *cs_queue_seldom_turn(cs_class *class, uintptr_t turn); // the same, where registers are in use

// The slot of an object of this size on the slow path. Returns NULL if there is none.
cs_slot *cs_queue_place(cs_class *class, uint32_t bytes, bool is_for_explorer);

#pragma GCC visibility pop

#endif
