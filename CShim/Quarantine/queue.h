// The way of an object into a place of its class: what each last release pays, so it is inlined, and what is usual
// comes first: a queue that is full, and in its next place an object of the same size under the same policy.
#ifndef CS_QUARANTINE_QUEUE_H
#define CS_QUARANTINE_QUEUE_H

#include <stdlib.h>
#include <string.h>

#include "fields.h"
#include "ghosts.h"
#include "quarantine.h"
#include "ticks_x86_64.h"

#define CS_USUALLY(condition) __builtin_expect(!!(condition), true)

#pragma GCC visibility push(hidden)

// For an object that is not as usual in every respect. False: it has no place, nothing has happened.
bool cs_queue_put_slowly(cs_class *class, cs_object *object, cs_quarantine_policy policy, const void *frame)
    __attribute__((cold));
// The same with a place of the queue in hand.
bool cs_queue_put_into(cs_class *class, cs_slot *slot, cs_object *old, uint32_t ordinal, cs_object *object,
                       cs_quarantine_policy policy, const void *frame) __attribute__((cold));

#pragma GCC visibility pop

static inline void cs_queue_charge(int64_t bytes) {
  atomic_fetch_sub_explicit(&cs_queue_left, bytes, memory_order_relaxed);
}

// What was in it, or CS_SLOT_BUSY. acquire: pairs with cs_slot_leave.
static inline cs_object *cs_slot_enter(cs_slot *slot) {
  return atomic_exchange(&slot->object, CS_SLOT_BUSY);
}

static inline void cs_slot_leave(cs_slot *slot, cs_object *object) {
  atomic_store_explicit(&slot->object, object, memory_order_release);
}

// What swift_slowDealloc comes to.
static inline void cs_object_free(const cs_class *class, cs_object *object) {
  if (CS_USUALLY(cs_heap_is_glibc)) {
    free(object);
  } else {
    swift_slowDealloc(object, class->metadata->instance_size, class->metadata->instance_align_mask);
  }
}

// The object is in the place; nobody sees it yet.
static inline bool cs_queue_publish(cs_class *class, cs_slot *slot, cs_object *object) {
  // Before the place is left: then another thread may take it, and give the object back to Swift.
  __atomic_store_n(&object->metadata, class->zombie, __ATOMIC_RELEASE);
  // seq_cst: pairs with cs_quarantine_unlist, which may have passed the place before.
  atomic_exchange(&slot->object, object);
  CS_COUNT(class, admitted);
  if (!CS_USUALLY(atomic_load_explicit(&class->is_listed, memory_order_relaxed) == 1)) cs_queue_sweep(class);
  return true;
}

// `ordinal`: of the object among those that came to the class.
static inline void cs_slot_fill_in(cs_class *class, cs_slot *slot, uint32_t ordinal, cs_object *object,
                                   cs_quarantine_policy policy, const void *frame) {
  const uint32_t id = class->index << CS_ID_CLASS_SHIFT | ordinal;
  slot->ticks = cs_ticks();
  // The processor keeps the order of stores, the compiler has to be told.
  atomic_signal_fence(memory_order_seq_cst);
  slot->id = id;
  uint64_t who = cs_this_thread.number;
  if (atomic_load_explicit(&cs_stacks_are_on, memory_order_relaxed) != 0)
    who |= (uint64_t)cs_stack_take(frame, false) << 32;
  memcpy(&slot->thread, &who, sizeof who);
  if (policy == CS_QUARANTINE_ABSORB) {
    slot->contents = cs_fields_checksum(class, object);
  } else {
    const uint64_t filling = cs_fields_filling(policy, id);
    slot->contents = filling;
    cs_fields_fill(class, object, filling);
  }
}

// False: it does not go without questions. What the old one was charged stays: another one of its size comes.
static inline bool cs_queue_replace(cs_class *class, cs_slot *slot, cs_object *old, cs_quarantine_policy policy) {
  if (policy == CS_QUARANTINE_ABSORB) {
    return CS_USUALLY(cs_reaper_give(class, slot, old));
  }
  // Nobody touched it.
  if (!CS_USUALLY(__atomic_load_n(&old->counts, __ATOMIC_ACQUIRE) == CS_COUNTS_DONE) ||
      !CS_USUALLY(cs_fields_are(class, old, slot->contents)))
    return false;
  cs_ghost_put_inline(slot, old);
  CS_COUNT(class, evicted);
  __atomic_store_n(&old->metadata, class->metadata, __ATOMIC_RELEASE);
  free(old);
  return true;
}

// The same size and policy, and the budget is not exceeded. Where there is a short way the heap is glibc's.
static inline bool cs_queue_is_usual(const cs_slot *slot, const cs_object *object, cs_quarantine_policy policy) {
  return CS_USUALLY(slot->bytes == cs_chunk_bytes(object) + sizeof(cs_slot)) && CS_USUALLY(slot->policy == policy) &&
         CS_USUALLY(atomic_load_explicit(&cs_queue_left, memory_order_relaxed) >= 0);
}

// Takes a place for the object and gives up the one it replaces. False: there is none, nothing has happened.
static inline __attribute__((always_inline)) bool cs_queue_put(cs_class *class, cs_object *object,
                                                               cs_quarantine_policy policy, const void *frame) {
  const uint64_t full = atomic_load_explicit(&class->full, memory_order_relaxed);
  if (!CS_USUALLY(--cs_this_thread.countdown != 0) || !CS_USUALLY(full != 0))
    return cs_queue_put_slowly(class, object, policy, frame);
  const uint32_t turn = (uint32_t)atomic_fetch_add_explicit(&class->turn, 1, memory_order_relaxed);
  // The remainder of `turn` by `full`: Lemire, Kaser and Kurz 2019. Below `full` whatever the reciprocal is.
  const uint64_t fraction = atomic_load_explicit(&class->reciprocal, memory_order_relaxed) * turn;
  cs_slot *const slot = &class->slots[(uint64_t)(((__uint128_t)fraction * full) >> 64)];
  cs_object *const old = cs_slot_enter(slot);
  if (!CS_USUALLY(old > CS_SLOT_BUSY) || !cs_queue_is_usual(slot, object, policy) ||
      !CS_USUALLY(cs_queue_replace(class, slot, old, policy)))
    return cs_queue_put_into(class, slot, old, turn & CS_ID_MASK, object, policy, frame);
  cs_slot_fill_in(class, slot, turn & CS_ID_MASK, object, policy, frame);
  return cs_queue_publish(class, slot, object);
}

#endif
