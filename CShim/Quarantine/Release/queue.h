// Fast path of a last release: moves the object into a slot of its class. It is inlined. The usual case comes first:
// the queue is full, and its next slot holds an object of equal size and policy. It calls nothing on its way, so that
// no register is saved, and ends in the call of the allocator.
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

// With `frame` still in place.
#define CS_LAST_RESORT __attribute__((cold, noinline, not_tail_called))

#pragma GCC visibility push(hidden)

// Sets another limit.
void cs_queue_resize(cs_class *class, uint32_t limit);
// Evicts everything, and waits for the reaper where that is behind.
void cs_queue_empty(cs_class *class);
// The same without waiting: what cannot go now stays.
void cs_queue_sweep(cs_class *class);

// Whether the slot's object has a chunk as large as the new object's, of glibc's heap.
CS_SELDOM bool cs_slot_is_as_large(const cs_slot *slot, const cs_object *object);

// The slow path of a claimed object; except under absorb, its deinit has run. The object gets a slot, or its memory is
// freed. The first function is for an object that has not been sampled.
CS_LAST_RESORT void cs_queue_put_slowly(cs_class *class, cs_object *object, cs_mode policy, const void *frame);
// The same with a slot that the caller holds, if `old` is not CS_SLOT_BUSY.
CS_LAST_RESORT void cs_queue_put_into(cs_class *class, cs_slot *slot, cs_object *old, cs_object *object, cs_mode policy,
                                      const void *frame);
// The class was unlisted, or is being drained, while an object came in: it goes again. `old` goes at once.
CS_LAST_RESORT void cs_queue_take_back(cs_class *class, cs_object *old);

#pragma GCC visibility pop

// Whether `object`, read from a used slot, is neither CS_SLOT_BUSY nor CS_SLOT_EMPTY.
static inline bool cs_slot_has_object(const cs_object *object) {
  return (uintptr_t)object - (uintptr_t)cs_slot_marks >= sizeof cs_slot_marks;
}

// Whether the slot's object is under the same policy, and its chunk as large as the new object's. Precondition: the
// heap is glibc's. Chunks of a class with one size count as equal: malloc adds at most a rest too small for another
// chunk, and the charge stays as it was.
static inline __attribute__((always_inline)) bool cs_slot_is_like(const cs_class *class, const cs_slot *slot,
                                                                  const cs_object *object, cs_mode policy) {
  uint16_t mark;
  memcpy(&mark, (const uint8_t *)&slot->label + CS_LABEL_MARK_SHIFT / 8, sizeof mark);
  return CS_USUALLY(mark == (uint16_t)(cs_label_mark_of(policy) >> CS_LABEL_MARK_SHIFT)) &&
         (CS_USUALLY(class->has_one_size) || cs_slot_is_as_large(slot, object));
}

// The number goes round within its own half of the label: one instruction where it is added to there.
static inline void cs_slot_renumber(cs_slot *slot) {
  uint32_t number;
  uint8_t *const at = (uint8_t *)&slot->label + CS_LABEL_SIZE_BITS / 8;
  memcpy(&number, at, sizeof number);
  number += CS_NUMBER_STRIDE;
  memcpy(at, &number, sizeof number);
}

// By which thread; `stack`: the number of that of the release.
static inline void cs_slot_fill_in(cs_class *class, cs_slot *slot, cs_object *object, cs_mode policy, uint32_t thread,
                                   uint32_t stack, bool is_pair) {
  cs_ticks_put(&slot->ticks);
  // The processor keeps the order of stores; this keeps the compiler's.
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

// Publishes the object in its slot. false: it has to go again.
static inline bool cs_queue_publish(cs_class *class, cs_slot *slot, cs_object *object, bool has_replaced) {
  // Before the slot is left: then another thread may take it, and give the object back to Swift.
  __atomic_store_n(&object->metadata, class->zombie, __ATOMIC_RELEASE);
  cs_slot_leave(slot, object);
  cs_ring_class *const counts = atomic_load_explicit(&class->counts, memory_order_relaxed);
  // The fence pairs with cs_quarantine_unlist, which may have passed the place before.
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

// Takes a place for the object and gives up the one it replaces. `is_pair`: the fields are two words.
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
  // What the old one was charged stays: another one of its size comes.
  cs_slot_fill_in(class, slot, object, policy, cs_libc_thread(), stack, is_pair);
  const bool stays = cs_queue_publish(class, slot, object, policy != CS_MODE_ABSORB);
  if (!stays) return cs_queue_take_back(class, policy == CS_MODE_ABSORB ? NULL : old);
  if (policy == CS_MODE_ABSORB) return;
  __atomic_store_n(&old->metadata, class->metadata, __ATOMIC_RELEASE);
  free(old);
}

#endif
