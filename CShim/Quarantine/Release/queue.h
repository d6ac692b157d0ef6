// The fast path of a last release: it puts the object into a slot of its class. The functions are inlined. The code is
// optimized for the usual case: the queue is full, and its next slot holds an object of equal size and policy. In this
// case it calls no function before the allocator, which it calls last. No register has to be saved.
#ifndef CS_QUARANTINE_QUEUE_H
#define CS_QUARANTINE_QUEUE_H

#include <stdlib.h>
#include <string.h>

#include "../Machine/atomics_x86_64.h"
#include "../Machine/clock_x86_64.h"
#include "../Machine/libc_x86_64.h"
#include "../Stacks/stacks.h"
#include "../Table/fields.h"
#include "../Table/places.h"
#include "evict.h"
#include "reaper.h"
#include "turn.h"

// A function that needs `frame` to be still on the stack.
#define CS_LAST_RESORT __attribute__((cold, noinline, not_tail_called))

#pragma GCC visibility push(hidden)

// Sets the limit of a class.
void cs_queue_resize(cs_class *class, uint32_t limit);
// Evicts all objects of the class. Waits for the reaper if it lags behind.
void cs_queue_empty(cs_class *class);
// Evicts all objects of the class without waiting. Objects that cannot be evicted now stay.
void cs_queue_sweep(cs_class *class);

// Whether the chunks of the slot's object and of the new object have the same size, in glibc's heap.
CS_SELDOM bool cs_slot_is_as_large(const cs_slot *slot, const cs_object *object);

// The slow path of a claimed object. Except under absorb, the object's deinit has run. The object gets a slot, or its
// memory is freed. The first function is for an object that has not been sampled.
CS_LAST_RESORT void cs_queue_put_slowly(cs_class *class, cs_object *object, cs_mode policy, const void *frame);
// The slow path with a slot that the caller has locked, if `old` is not CS_SLOT_BUSY.
CS_LAST_RESORT void cs_queue_put_into(cs_class *class, cs_slot *slot, cs_object *old, cs_object *object, cs_mode policy,
                                      const void *frame);
// Evicts the objects of a class that was unlisted, or is being drained, while an object came in. Frees `old` at once.
CS_LAST_RESORT void cs_queue_take_back(cs_class *class, cs_object *old);

#pragma GCC visibility pop

// Whether `object`, read from a used slot, is neither CS_SLOT_BUSY nor CS_SLOT_EMPTY.
static inline bool cs_slot_has_object(const cs_object *object) {
  return (uintptr_t)object - (uintptr_t)cs_slot_marks >= sizeof cs_slot_marks;
}

// Whether the slot's object has the same policy as the new object, and a chunk of the same size. Precondition: the heap
// is glibc's. If all objects of the class have one size, their chunks count as equal. malloc may add at most a rest
// that is too small for another chunk; the charge to the budget ignores it.
static inline __attribute__((always_inline)) bool cs_slot_is_like(const cs_class *class, const cs_slot *slot,
                                                                  const cs_object *object, cs_mode policy) {
  uint16_t mark;
  memcpy(&mark, (const uint8_t *)&slot->label + CS_LABEL_MARK_SHIFT / 8, sizeof mark);
  return CS_USUALLY(mark == (uint16_t)(cs_label_mark_of(policy) >> CS_LABEL_MARK_SHIFT)) &&
         (CS_USUALLY(class->has_one_size) || cs_slot_is_as_large(slot, object));
}

// Increments the number. It wraps around inside its own half of the label; as a separate 32-bit addition this is one
// instruction.
static inline void cs_slot_renumber(cs_slot *slot) {
  uint32_t number;
  uint8_t *const at = (uint8_t *)&slot->label + CS_LABEL_SIZE_BITS / 8;
  memcpy(&number, at, sizeof number);
  number += CS_NUMBER_STRIDE;
  memcpy(at, &number, sizeof number);
}

// Writes the record and the fields of an object. `thread` is the releasing thread, and `stack` the number of the stack
// of the release.
static inline void cs_slot_fill_in(cs_class *class, cs_slot *slot, cs_object *object, cs_mode policy, uint32_t thread,
                                   uint32_t stack, bool is_pair) {
  cs_ticks_put(&slot->ticks);
  // The processor keeps the order of stores; the fence keeps the compiler from changing it.
  atomic_signal_fence(memory_order_seq_cst);
  cs_slot_renumber(slot);
  const uint64_t who = thread | (uint64_t)stack << 32;
  memcpy(&slot->thread, &who, sizeof who);
  if (policy == CS_MODE_ABSORB) {
    slot->checksum = cs_fields_checksum(class, object);
    return;
  }
  const uint64_t filling = cs_fields_filling(policy, slot->label);
  if (is_pair) {
    object->fields[0] = filling;
    object->fields[1] = filling;
  } else {
    cs_fields_fill(class, object, filling);
  }
}

// Publishes the object in its slot. Returns false if the object must be evicted again.
static inline bool cs_queue_publish(cs_class *class, cs_slot *slot, cs_object *object, bool has_replaced) {
  // Make the object a zombie before the slot is unlocked: afterwards another thread may evict the object and return it
  // to Swift.
  __atomic_store_n(&object->metadata, class->zombie, __ATOMIC_RELEASE);
  cs_slot_leave(slot, object);
  cs_ring_class *const counts = atomic_load_explicit(&class->counts, memory_order_relaxed);
  // The fence pairs with cs_quarantine_unlist, which may have passed this slot before.
  cs_count_and_fence(&counts->admitted);
  if (has_replaced) __atomic_fetch_add(&counts->evicted, 1, __ATOMIC_RELAXED);
  return CS_USUALLY(cs_is_one(&class->is_listed));
}

// Whether an object is unchanged since its deinit ended.
static inline bool cs_slot_is_untouched(const cs_class *class, const cs_slot *slot, const cs_object *old,
                                        cs_mode policy, bool is_pair) {
  if (!CS_USUALLY(cs_word_is(&old->counts, CS_COUNTS_DONE))) return false;
  const uint64_t filling = cs_fields_filling(policy, slot->label);
  if (is_pair) return CS_USUALLY(((old->fields[0] ^ filling) | (old->fields[1] ^ filling)) == 0);
  return CS_USUALLY(cs_fields_are(class, old, filling));
}

// Puts the object into the next slot, and evicts the object that it replaces. `is_pair`: the fields are two words.
static inline __attribute__((always_inline)) void cs_queue_put(cs_class *class, cs_object *object, cs_mode policy,
                                                               bool takes_stack, bool is_pair, const void *frame) {
  const uint32_t stack = takes_stack ? cs_stack_take(frame, false) : 0;
  const uintptr_t turn = atomic_fetch_add_explicit(&class->turn, sizeof(cs_slot), memory_order_relaxed);
  cs_slot *slot = (cs_slot *)turn;
  if (!CS_USUALLY(cs_is_below(turn, &class->bound))) {
    slot = cs_queue_seldom_turn(class, turn);
    if (slot == NULL) return cs_queue_put_slowly(class, object, policy, frame);
  }
  cs_object *const old = cs_slot_enter(slot);
  if (!cs_slot_is_like(class, slot, object, policy) ||
      !(policy == CS_MODE_ABSORB ? CS_USUALLY(cs_slot_has_object(old)) && CS_USUALLY(cs_reaper_give(slot, old))
                                 : cs_slot_is_untouched(class, slot, old, policy, is_pair)))
    return cs_queue_put_into(class, slot, old, object, policy, frame);
  if (policy != CS_MODE_ABSORB) cs_slot_pass(slot, old);
  // The charge of the old object stays, because the new object has the same size.
  cs_slot_fill_in(class, slot, object, policy, cs_libc_thread(), stack, is_pair);
  const bool stays = cs_queue_publish(class, slot, object, policy != CS_MODE_ABSORB);
  if (!stays) return cs_queue_take_back(class, policy == CS_MODE_ABSORB ? NULL : old);
  if (policy == CS_MODE_ABSORB) return;
  __atomic_store_n(&old->metadata, class->metadata, __ATOMIC_RELEASE);
  free(old);
}

#endif
