// Freed-object records of evicted objects. Most of them are in the slots. This table has the records of objects that
// had left their slot before their deinit ran, under absorb.
#ifndef CS_QUARANTINE_FREED_OBJECTS_H
#define CS_QUARANTINE_FREED_OBJECTS_H

#include "slot.h"

#define CS_FREED_OBJECTS 1024 // a power of two

// The same words as the first half of a slot's record. As in a slot, the thread that swaps CS_SLOT_BUSY for `object`
// writes the other fields.
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

// Returns false if the record belongs to another object, or is changing.
static inline bool cs_freed_object_read(const cs_freed_object *record, const void *object, cs_slot *ret_slot) {
  // CS_SLOT_BUSY is an address, too, and could be equal to `object`.
  if (object == CS_SLOT_BUSY || atomic_load_explicit(&record->object, memory_order_acquire) != object) return false;
  const uint64_t ticks = __atomic_load_n(&record->ticks, __ATOMIC_RELAXED);
  const uint64_t label = __atomic_load_n(&record->label, __ATOMIC_RELAXED);
  atomic_thread_fence(memory_order_acquire);
  ret_slot->ticks = ticks;
  ret_slot->label = label;
  ret_slot->thread = __atomic_load_n(&record->thread, __ATOMIC_RELAXED);
  ret_slot->stack = __atomic_load_n(&record->stack, __ATOMIC_RELAXED);
  atomic_thread_fence(memory_order_acquire);
  return __atomic_load_n(&record->ticks, __ATOMIC_RELAXED) == ticks &&
         __atomic_load_n(&record->label, __ATOMIC_RELAXED) == label &&
         atomic_load_explicit(&record->object, memory_order_relaxed) == object;
}

#endif
