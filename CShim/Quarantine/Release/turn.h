// Selects the slot for an object that goes to the quarantine. Most objects get the next slot of the class's queue, in
// which the object that was released first is replaced first. A turn is the address of that slot. One of twenty objects
// gets a random slot of the explorer instead, and replaces the object there.
//
// The numbers of slots, the limits and the budget are read relaxed: they decide which slot a thread tries. The exchange
// that locks the slot (places.h) orders the accesses to it.
#ifndef CS_QUARANTINE_TURN_H
#define CS_QUARANTINE_TURN_H

#include "../Table/class.h"

#pragma GCC visibility push(hidden)

// Returns the slot for a turn that is not below the class's bound (class.h): a slot of the explorer, or a slot of the
// queue, after a wrap-around from the last slot to the first. Turns below the bound take the fast path. Returns NULL if
// the caller must take the slow path.
cs_slot *cs_queue_turn(cs_class *class, uintptr_t turn) __attribute__((noinline));
CS_SELDOM cs_slot *cs_queue_seldom_turn(cs_class *class, uintptr_t turn); // the same function; preserves most registers

// Returns the slot for an object of this size on the slow path, or NULL if there is no slot.
cs_slot *cs_queue_place(cs_class *class, uint32_t bytes, bool is_for_explorer);

#pragma GCC visibility pop

#endif
