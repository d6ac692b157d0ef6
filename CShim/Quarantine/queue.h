// The way of an object into a place of its class: what each last release pays, so it is inlined.
#ifndef CS_QUARANTINE_QUEUE_H
#define CS_QUARANTINE_QUEUE_H

#include <malloc.h>

#include "fields.h"
#include "quarantine.h"
#include "ticks_x86_64.h"

#define CS_QUEUE_TRIES 8
#define CS_EXPLORED    (UINT64_MAX / 20)

// The explorer's turn, or the queue is not full yet. NULL: there is no place at all.
cs_slot *cs_queue_choose(cs_class *class, uint64_t random, cs_object *object)
    __attribute__((visibility("hidden"), cold));

static inline void cs_queue_charge(uint64_t bytes) {
  atomic_fetch_add_explicit(&cs_queue_bytes, bytes, memory_order_relaxed);
}

// For so many bytes in place of others.
static inline bool cs_queue_has_room(uint32_t bytes, uint32_t instead_of) {
  return atomic_load_explicit(&cs_queue_bytes, memory_order_relaxed) + bytes <=
         atomic_load_explicit(&cs_queue_budget, memory_order_relaxed) + instead_of;
}

// Of the object and of its place.
static inline uint32_t cs_queue_bytes_of(cs_object *object) {
  const uint64_t chunk = cs_heap_is_glibc ? cs_chunk_bytes(object) : malloc_usable_size(object) + 8;
  return chunk < UINT32_MAX / 2 ? (uint32_t)(chunk + sizeof(cs_slot)) : UINT32_MAX / 2;
}

// Chance, as far as no program's rhythm is in step with it.
static inline uint64_t cs_queue_random(const cs_class *class, uint64_t ticket) {
  uint64_t value = (ticket + ((uint64_t)class->index << 32)) * UINT64_C(0xBF58476D1CE4E5B9);
  value = (value ^ (value >> 31)) * UINT64_C(0x94D049BB133111EB);
  return value ^ (value >> 29);
}

static inline cs_slot *cs_slot_choose(cs_class *class, uint64_t ticket, cs_object *object) {
  const uint32_t full = atomic_load_explicit(&class->full, memory_order_relaxed);
  const uint64_t random = cs_queue_random(class, ticket);
  if (full == 0 || random < CS_EXPLORED) return cs_queue_choose(class, random, object);
  return &class->slots[(uint32_t)atomic_fetch_add_explicit(&class->turn, 1, memory_order_relaxed) % full];
}

// acquire: pairs with leave.
static inline bool cs_slot_enter(cs_slot *slot, uint64_t *ret_sequence) {
  uint64_t sequence = atomic_load_explicit(&slot->sequence, memory_order_relaxed);
  if ((sequence & 1) != 0) return false;
  if (!atomic_compare_exchange_strong(&slot->sequence, &sequence, sequence + 1)) return false;
  *ret_sequence = sequence;
  return true;
}

static inline void cs_slot_leave(cs_slot *slot, uint64_t sequence) {
  atomic_store_explicit(&slot->sequence, sequence, memory_order_release);
}

// What was in the place goes. False: it cannot go now.
static inline bool cs_slot_make_room(cs_class *class, const cs_slot *slot) {
  if (slot->object == NULL) return true;
  if (slot->policy == CS_QUARANTINE_ABSORB) return cs_reaper_give(class, slot);
  cs_evict(class, slot);
  return true;
}

static inline void cs_slot_fill_in(cs_class *class, cs_slot *slot, const cs_arrival *arrival, uint64_t ticket) {
  cs_object *const object = arrival->object;
  const uint32_t bytes = cs_queue_bytes_of(object);
  slot->object = object;
  slot->counts = arrival->counts;
  slot->policy = arrival->policy;
  slot->ticks = cs_ticks();
  slot->id = class->index << CS_ID_CLASS_SHIFT | ((uint32_t)ticket & CS_ID_MASK);
  slot->thread = cs_thread_number();
  slot->bytes = bytes;
  slot->stack = 0;
  cs_queue_charge(bytes);
  if (arrival->policy == CS_QUARANTINE_ABSORB) {
    slot->checksum = cs_fields_checksum(class, object);
  } else {
    cs_fields_fill(class, object, cs_fields_filling(arrival->policy, slot->id));
  }
  if (atomic_load_explicit(&cs_stacks_are_on, memory_order_relaxed) != 0)
    slot->stack = cs_stack_take(arrival->frame, false);
}

// Takes a place for the object and gives up the one it replaces. False: there is none, nothing has happened.
static inline bool cs_queue_put(cs_class *class, const cs_arrival *arrival) {
  for (uint32_t tries = 0; tries < CS_QUEUE_TRIES; tries++) {
    const uint64_t ticket = atomic_fetch_add_explicit(&class->ticket, 1, memory_order_relaxed);
    uint64_t sequence = 0;
    cs_slot *const slot = cs_slot_choose(class, ticket, arrival->object);
    if (slot == NULL) {
      CS_COUNT(class, skipped_budget);
      return false;
    }
    if (!cs_slot_enter(slot, &sequence)) continue;
    const bool fits = cs_queue_has_room(cs_queue_bytes_of(arrival->object), slot->object == NULL ? 0 : slot->bytes);
    if (!cs_slot_make_room(class, slot)) {
      cs_slot_leave(slot, sequence);
      break;
    }
    // As when the budget has become smaller: the older one goes, and nobody comes.
    if (!fits) {
      slot->object = NULL;
      cs_slot_leave(slot, sequence + 2);
      CS_COUNT(class, skipped_budget);
      return false;
    }
    cs_slot_fill_in(class, slot, arrival, ticket);
    // Before the place is left: then another thread may take it, and give the object back to Swift.
    __atomic_store_n(&arrival->object->metadata, class->zombie, __ATOMIC_RELEASE);
    cs_slot_leave(slot, sequence + 2);
    CS_COUNT(class, admitted);
    return true;
  }
  CS_COUNT(class, skipped_busy);
  return false;
}

#endif
