// How places and ghosts are read by who does not have them in hand: other threads write them meanwhile, and one that
// was stopped for ever may have left a place in the middle of it.
#ifndef CS_QUARANTINE_PLACES_H
#define CS_QUARANTINE_PLACES_H

#include <string.h>

#include "../quarantine.h"

// Both kinds of places lie side by side: the explorer's before `slots`, the queue's from there on.
static inline cs_slot *cs_slots_begin(const cs_class *class) {
  return class->slots - atomic_load(&((cs_class *)(uintptr_t)class)->explorer_used);
}

static inline cs_slot *cs_slots_end(const cs_class *class) {
  return class->slots + atomic_load(&((cs_class *)(uintptr_t)class)->queue_used);
}

// One look at a place: 1 found, 0 not here, -1 busy. `is_past`: the object is the tenant before, its record made of the
// ghost.
static inline int cs_slot_look(const cs_slot *slot, const cs_object *object, bool is_past, cs_slot *ret_slot) {
  const cs_object *const before = atomic_load_explicit(&slot->object, memory_order_acquire);
  if (before == CS_SLOT_BUSY) return -1;
  if ((is_past ? __atomic_load_n(&slot->past, __ATOMIC_RELAXED) : before) != object) return 0;
  const uint64_t ticks = __atomic_load_n(&slot->ticks, __ATOMIC_RELAXED);
  const uint64_t label = __atomic_load_n(&slot->label, __ATOMIC_RELAXED);
  atomic_thread_fence(memory_order_acquire);
  const cs_slot copy = *slot;
  atomic_thread_fence(memory_order_acquire);
  // The same object may be there again, in a new life.
  if (__atomic_load_n(&slot->ticks, __ATOMIC_RELAXED) != ticks ||
      __atomic_load_n(&slot->label, __ATOMIC_RELAXED) != label || copy.ticks != ticks || copy.label != label ||
      atomic_load_explicit(&slot->object, memory_order_relaxed) != before)
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

#define CS_FREED_OBJECTS 1024 // a power of two

// As the first half of the record that it was. Who swaps CS_SLOT_BUSY for `object` writes it, as with a place.
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

// freed_objects.c: of objects that had left their place before their deinit ran, under absorb.
extern cs_freed_object cs_freed_objects[CS_FREED_OBJECTS] __attribute__((visibility("hidden")));

// False: it is another object's, or changes now.
static inline bool cs_freed_object_look(const cs_freed_object *ghost, const void *object, cs_slot *ret_slot) {
  // The mark of a ghost that is being written is an address, too.
  if (object == CS_SLOT_BUSY || atomic_load_explicit(&ghost->object, memory_order_acquire) != object) return false;
  const uint64_t ticks = __atomic_load_n(&ghost->ticks, __ATOMIC_RELAXED);
  const uint64_t label = __atomic_load_n(&ghost->label, __ATOMIC_RELAXED);
  atomic_thread_fence(memory_order_acquire);
  ret_slot->ticks = ticks;
  ret_slot->label = label;
  ret_slot->thread = __atomic_load_n(&ghost->thread, __ATOMIC_RELAXED);
  ret_slot->stack = __atomic_load_n(&ghost->stack, __ATOMIC_RELAXED);
  atomic_thread_fence(memory_order_acquire);
  return __atomic_load_n(&ghost->ticks, __ATOMIC_RELAXED) == ticks &&
         __atomic_load_n(&ghost->label, __ATOMIC_RELAXED) == label &&
         atomic_load_explicit(&ghost->object, memory_order_relaxed) == object;
}

#endif
