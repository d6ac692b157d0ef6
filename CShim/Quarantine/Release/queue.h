// The fast path of a last release, which puts the object into a slot of its class. Most slots of a class form a queue
// (class.h): the new object replaces the one that was released first. The functions are inlined, and optimized for the
// most frequent case: all slots are in use, and the next slot contains an object of the same size and policy. In this
// case, the only call is that of free() at the end, so no registers need to be saved.
#ifndef CS_QUARANTINE_QUEUE_H
#define CS_QUARANTINE_QUEUE_H

#include <stdlib.h>
#include <string.h>

#include "../Machine/atomics.h"
#include "../Machine/clock.h"
#include "../Machine/libc.h"
#include "../Stacks/stacks.h"
#include "../Table/fields.h"
#include "../Table/places.h"
#include "evict.h"
#include "reaper.h"
#include "turn.h"

// Marks a function of a slow path. Its caller must not call it by a tail call, because the caller's stack frame, to
// which `frame` points, must still exist.
#define CS_LAST_RESORT __attribute__((cold, noinline, not_tail_called))

#pragma GCC visibility push(hidden)

// Sets the maximum number of objects of a class in quarantine. The explorer (turn.h) has up to a fifth more.
void cs_queue_resize(cs_class *class, uint32_t limit);
// Evicts all objects of the class. If the reaper's queue is full, waits without a time limit until the reaper has
// emptied it.
void cs_queue_empty(cs_class *class);
// Evicts the objects of the class without waiting. Objects that cannot be evicted now stay in quarantine.
void cs_queue_sweep(cs_class *class);

// Returns whether the chunks of the slot's object and of the new object have the same size, in glibc's heap.
CS_SELDOM bool cs_slot_is_as_large(const cs_slot *slot, const cs_object *object);

// The slow path for a claimed object (destroy.c), which gets a slot or is freed. The object's deinit has run, except
// under the policy absorb. This function also decides by sampling whether the object goes to the explorer, the slots
// from which objects are evicted at random (turn.h).
CS_LAST_RESORT void cs_queue_put_slowly(cs_class *class, cs_object *object, cs_mode policy, const void *frame);
// The slow path for a slot that the caller has already locked. If `old` is CS_SLOT_BUSY, another thread has locked the
// slot, and this function selects another slot.
CS_LAST_RESORT void cs_queue_put_into(cs_class *class, cs_slot *slot, cs_object *old, cs_object *object, cs_mode policy,
                                      const void *frame);
// Evicts the objects of a class that was unlisted or drained (cs_quarantine_drain) while this thread put an object into
// a slot. Frees `old`, the object that this thread took from the slot, at once.
CS_LAST_RESORT void cs_queue_take_back(cs_class *class, cs_object *old);

#pragma GCC visibility pop

// Returns whether `object`, which was read from a slot, is an object, and not CS_SLOT_BUSY or CS_SLOT_EMPTY.
static inline bool cs_slot_has_object(const cs_object *object) {
  return (uintptr_t)object - (uintptr_t)cs_slot_marks >= sizeof cs_slot_marks;
}

// Returns whether the slot's object has the same policy as the new object and a chunk of the same size. Precondition:
// the heap is glibc's. If all objects of the class have one size, their chunks count as equally large, although a chunk
// can include a remainder that was too small for another chunk.
static inline __attribute__((always_inline)) bool cs_slot_is_like(const cs_class *class, const cs_slot *slot,
                                                                  const cs_object *object, cs_mode policy) {
  uint16_t mark;
  memcpy(&mark, (const uint8_t *)&slot->label + CS_LABEL_MARK_SHIFT / 8, sizeof mark);
  return CS_USUALLY(mark == (uint16_t)(cs_label_mark_of(policy) >> CS_LABEL_MARK_SHIFT)) &&
         (CS_USUALLY(class->has_one_size) || cs_slot_is_as_large(slot, object));
}

// Changes the record number in the slot's label, for the slot's next object. The 32-bit addition takes one instruction,
// and an overflow changes no other bits of the label.
static inline void cs_slot_renumber(cs_slot *slot) {
  uint32_t number;
  uint8_t *const at = (uint8_t *)&slot->label + CS_LABEL_SIZE_BITS / 8;
  memcpy(&number, at, sizeof number);
  number += CS_NUMBER_STRIDE;
  memcpy(at, &number, sizeof number);
}

// Writes the slot's data and the fields of an object. `thread` is the ID of the releasing thread, and `stack` is the
// number of the recorded stack of the release.
static inline void cs_slot_fill_in(cs_class *class, cs_slot *slot, cs_object *object, cs_mode policy, uint32_t thread,
                                   uint32_t stack, bool is_pair) {
  cs_ticks_put(&slot->ticks);
  // Keeps the compiler from moving the other writes before the read of the clock. Readers need no order of these
  // writes: they check afterward that the slot still contains the same object (cs_slot_read).
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

// Publishes the object in its slot. Returns false if the class was unlisted or is drained, so that the object must be
// evicted again.
static inline bool cs_queue_publish(cs_class *class, cs_slot *slot, cs_object *object, bool has_replaced) {
  // Makes the object a zombie (lets it point to the metadata copy of its class) before the slot is unlocked. As soon as
  // the slot is unlocked, another thread can evict the object and free it.
  __atomic_store_n(&object->metadata, class->zombie, __ATOMIC_RELEASE);
  cs_slot_leave(slot, object);
  cs_ring_class *const counts = atomic_load_explicit(&class->counts, memory_order_relaxed);
  // The increment is also a fence, which pairs with the fence in cs_quarantine_unlist: if that function has visited
  // this slot before the store, this thread reads that the class is no longer listed.
  cs_count_and_fence(&counts->admitted);
  if (has_replaced) __atomic_fetch_add(&counts->evicted, 1, __ATOMIC_RELAXED);
  return CS_USUALLY(cs_is_one(&class->is_listed));
}

// Returns whether nothing has changed the object's counts and fields since it was put into the slot.
static inline bool cs_slot_is_untouched(const cs_class *class, const cs_slot *slot, const cs_object *old,
                                        cs_mode policy, bool is_pair) {
  if (!CS_USUALLY(cs_word_is(&old->counts, CS_COUNTS_DONE))) return false;
  const uint64_t filling = cs_fields_filling(policy, slot->label);
  if (is_pair) return CS_USUALLY(((old->fields[0] ^ filling) | (old->fields[1] ^ filling)) == 0);
  return CS_USUALLY(cs_fields_are(class, old, filling));
}

// Puts the object into the next slot, and evicts the object that it replaces. `is_pair`: whether the fields are two
// words.
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
  // The charge to the budget does not change, because the new object has the same size as the old object.
  cs_slot_fill_in(class, slot, object, policy, cs_libc_thread(), stack, is_pair);
  const bool stays = cs_queue_publish(class, slot, object, policy != CS_MODE_ABSORB);
  if (!stays) return cs_queue_take_back(class, policy == CS_MODE_ABSORB ? NULL : old);
  if (policy == CS_MODE_ABSORB) return;
  __atomic_store_n(&old->metadata, class->metadata, __ATOMIC_RELEASE);
  free(old);
}

#endif
