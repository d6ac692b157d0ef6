// A table of freed-object records: the records of the last release of objects that have left the quarantine. This table
// contains only those of the policy absorb, under which objects leave their slots before their deinit runs. All other
// freed-object records are in the slots (slot.h).
#ifndef CS_QUARANTINE_FREED_OBJECTS_H
#define CS_QUARANTINE_FREED_OBJECTS_H

#include "slot.h"

#define CS_FREED_OBJECTS 1024 // a power of two

// The fields are the same as in the first half of a slot. As in a slot, a thread locks the record by exchanging
// `object` for CS_SLOT_BUSY, and then writes the other fields.
typedef struct cs_freed_object {
  const cs_object *_Atomic object;
  uint64_t ticks;
  uint64_t label;
  uint32_t thread;
  uint32_t stack;
} cs_freed_object;

_Static_assert(offsetof(cs_freed_object, label) == offsetof(cs_slot, label) &&
                   sizeof(cs_freed_object) == offsetof(cs_slot, past),
               "the same words");

#pragma GCC visibility push(hidden)

void cs_freed_object_put(const cs_slot *slot, const cs_object *object);
bool cs_freed_object_find(const void *object, cs_quarantine_liveness *ret_liveness);

extern cs_freed_object cs_freed_objects[CS_FREED_OBJECTS];

#pragma GCC visibility pop

// Returns false if the record belongs to another object, or if a thread is writing the record.
static inline bool cs_freed_object_read(const cs_freed_object *record, const void *object, cs_slot *ret_slot) {
  // `object` can be any address that the program asks for, even the address CS_SLOT_BUSY.
  if (object == CS_SLOT_BUSY || atomic_load_explicit(&record->object, memory_order_acquire) != object) return false;
  const uint64_t ticks = __atomic_load_n(&record->ticks, __ATOMIC_RELAXED);
  const uint64_t label = __atomic_load_n(&record->label, __ATOMIC_RELAXED);
  atomic_thread_fence(memory_order_acquire);
  ret_slot->ticks = ticks;
  ret_slot->label = label;
  ret_slot->thread = __atomic_load_n(&record->thread, __ATOMIC_RELAXED);
  ret_slot->stack = __atomic_load_n(&record->stack, __ATOMIC_RELAXED);
  atomic_thread_fence(memory_order_acquire);
  // If `object`, `ticks` and `label` are unchanged, all fields that were read belong to this object. acquire: the
  // second reads of the ticks and the label follow the second read of the object.
  return atomic_load_explicit(&record->object, memory_order_acquire) == object &&
         __atomic_load_n(&record->ticks, __ATOMIC_RELAXED) == ticks &&
         __atomic_load_n(&record->label, __ATOMIC_RELAXED) == label;
}

#endif
