// Which slot of its class an object gets: the next turn of the queue or, for one object in twenty, a random slot of the
// explorer.
#ifndef CS_QUARANTINE_TURN_H
#define CS_QUARANTINE_TURN_H

#include "../Table/class.h"

#pragma GCC visibility push(hidden)

// The place for an object whose turn is not below the bound: one of the explorer's, or where the turns begin anew.
// NULL: the short way is closed.
cs_slot *cs_queue_turn(cs_class *class, uintptr_t turn) __attribute__((noinline));
CS_SELDOM cs_slot *cs_queue_seldom_turn(cs_class *class, uintptr_t turn); // the same, where registers are in use

// The slot of an object that takes the slow path, of so many bytes. NULL: there is none at all.
cs_slot *cs_queue_place(cs_class *class, uint32_t bytes, bool is_for_explorer);

#pragma GCC visibility pop

#endif
