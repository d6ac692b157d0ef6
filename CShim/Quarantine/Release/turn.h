// Selects the slot for an object. In most cases, the object gets the next slot of the class's queue. A turn is the
// address of that slot. One of twenty objects gets a random slot of the explorer, the part of the quarantine that
// evicts at random.
//
// The numbers of slots, the limits and the budget are read relaxed: they decide which slot a thread tries. The exchange
// that locks the slot (places.h) orders the accesses to it.
#ifndef CS_QUARANTINE_TURN_H
#define CS_QUARANTINE_TURN_H

#include "../Table/class.h"

#pragma GCC visibility push(hidden)

// Returns the slot for the turn number `turn`, which has reached the class's bound (class.h). Smaller turns take the
// fast path. The result is a slot of the explorer, or the slot after a wrap-around from the last slot to the first.
// Returns NULL if the fast path is disabled.
cs_slot *cs_queue_turn(cs_class *class, uintptr_t turn) __attribute__((noinline));
CS_SELDOM cs_slot *cs_queue_seldom_turn(cs_class *class, uintptr_t turn); // the same function; preserves most registers

// Returns the slot for an object of this size on the slow path, or NULL if there is no slot.
cs_slot *cs_queue_place(cs_class *class, uint32_t bytes, bool is_for_explorer);

#pragma GCC visibility pop

#endif
