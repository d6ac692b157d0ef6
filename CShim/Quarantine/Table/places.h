// Functions that lock and unlock the slots of a class, and read them without locking. During such a read, other threads
// can write the slot, and a thread can be stopped forever in the middle of its write.
#ifndef CS_QUARANTINE_PLACES_H
#define CS_QUARANTINE_PLACES_H

#include <string.h>

#include "../Machine/atomics.h"
#include "class.h"

#pragma GCC visibility push(hidden)

// The memory budget of all classes together, in bytes, and its unused part. The unused part becomes negative if the
// budget is reduced below what is in use.
extern _Atomic uint64_t cs_budget;
extern _Atomic int64_t cs_budget_left;

// Copies the record of an object that is in a slot of the class. Returns false if no slot contains the object, or if
// other threads keep changing the slots.
bool cs_table_find(const cs_class *class, const cs_object *object, cs_slot *ret_slot);
// Copies the latest freed-object record of an object in the slots of a class. Returns false if there is none.
bool cs_table_find_past(const cs_class *class, const cs_object *object, cs_slot *ret_slot);

#pragma GCC visibility pop

static inline void cs_budget_charge(int64_t bytes) {
  atomic_fetch_sub_explicit(&cs_budget_left, bytes, memory_order_relaxed);
}

static inline bool cs_budget_has_room(uint32_t bytes, uint32_t instead_of) {
  return atomic_load_explicit(&cs_budget_left, memory_order_relaxed) + instead_of >= (int64_t)bytes;
}

// Locks a slot, and returns the object that the slot contained. Returns CS_SLOT_BUSY if another thread has locked the
// slot. acquire: pairs with cs_slot_leave().
static inline cs_object *cs_slot_enter(cs_slot *slot) {
  cs_object *const object = atomic_exchange(&slot->object, CS_SLOT_BUSY);
  // The fence orders the lock before this thread's later writes to the slot: a reader that reads one of them also reads
  // that the slot is locked (cs_slot_read). On AArch64, the exchange alone does not ensure this.
  cs_store_fence();
  return object;
}

static inline void cs_slot_leave(cs_slot *slot, cs_object *object) {
  atomic_store_explicit(&slot->object, object, memory_order_release);
}

// When an object leaves its slot: copies its record, the first half of the slot, to the second half, the slot's
// freed-object record.
static inline void cs_slot_pass(cs_slot *slot, const cs_object *old) {
  slot->past = old;
  slot->past_ticks = slot->ticks;
  memcpy(&slot->past_label, &slot->label, sizeof *slot - offsetof(cs_slot, past_label));
}

_Static_assert(offsetof(cs_slot, past) - offsetof(cs_slot, label) == sizeof(cs_slot) - offsetof(cs_slot, past_label),
               "the same words");

// The slots of a class are adjacent. The explorer's slots end before `slots`, and the queue's slots start there.
static inline cs_slot *cs_slots_begin(const cs_class *class) {
  return class->slots - atomic_load(&((cs_class *)(uintptr_t)class)->explorer_used);
}

static inline cs_slot *cs_slots_end(const cs_class *class) {
  return class->slots + atomic_load(&((cs_class *)(uintptr_t)class)->queue_used);
}

// Reads a slot without locking it. Returns 1 if the slot contains the object, and 0 if it does not. Returns -1 if
// another thread has locked or changed the slot. If `is_past` is true, compares the slot's previous object instead, and
// stores its freed-object record in the fields of the first half of `ret_slot`.
static inline int cs_slot_read(const cs_slot *slot, const cs_object *object, bool is_past, cs_slot *ret_slot) {
  const cs_object *const before = atomic_load_explicit(&slot->object, memory_order_acquire);
  if (before == CS_SLOT_BUSY) return -1;
  if ((is_past ? __atomic_load_n(&slot->past, __ATOMIC_RELAXED) : before) != object) return 0;
  const uint64_t ticks = __atomic_load_n(&slot->ticks, __ATOMIC_RELAXED);
  const uint64_t label = __atomic_load_n(&slot->label, __ATOMIC_RELAXED);
  atomic_thread_fence(memory_order_acquire);
  const cs_slot copy = *slot;
  atomic_thread_fence(memory_order_acquire);
  // A new object can have the same address, so the ticks and the label must also be unchanged. acquire: their second
  // reads follow the second read of the object.
  if (atomic_load_explicit(&slot->object, memory_order_acquire) != before ||
      __atomic_load_n(&slot->ticks, __ATOMIC_RELAXED) != ticks ||
      __atomic_load_n(&slot->label, __ATOMIC_RELAXED) != label || copy.ticks != ticks || copy.label != label)
    return -1;
  if (!is_past) {
    *ret_slot = copy;
    return 1;
  }
  if (copy.past != object) return -1;
  ret_slot->ticks = copy.past_ticks;
  memcpy(&ret_slot->label, &copy.past_label, sizeof copy - offsetof(cs_slot, past_label));
  return 1;
}

#endif
