// The slow path that puts an object into a slot of its class, and the eviction of all objects of a class. Most slots of
// a class form a queue (class.h): the object that was released first is evicted first. Threads share only atomic
// counters and the slots. If another thread has locked a slot, this thread tries the next slot and does not wait.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <malloc.h>
#include <sched.h>

#include "../Stacks/thread.h"
#include "../Table/classes.h"
#include "queue.h"
#include "reaper.h"
#include "sampling.h"

#define QUEUE_TRIES 8

// keep_x86_64.S contains the same numbers.
_Static_assert(offsetof(cs_class, metadata) == 16 && offsetof(cs_class, zombie) == 24 &&
                   offsetof(cs_class, counts) == 40 && offsetof(cs_class, bound) == 48 &&
                   offsetof(cs_class, is_listed) == 56 && offsetof(cs_class, turn) == 64,
               "the offsets in a class");
_Static_assert(offsetof(cs_ring_class, admitted) == 0 && offsetof(cs_ring_class, evicted) == 8,
               "the offsets of the counters");
_Static_assert(offsetof(cs_slot, object) == 0 && offsetof(cs_slot, ticks) == 8 && offsetof(cs_slot, label) == 16 &&
                   offsetof(cs_slot, thread) == 24 && offsetof(cs_slot, stack) == 28 && offsetof(cs_slot, past) == 32 &&
                   offsetof(cs_slot, past_ticks) == 40 && offsetof(cs_slot, past_label) == 48,
               "the offsets in a slot");
_Static_assert(CS_LABEL_SIZE_BITS == 16 && CS_NUMBER_STRIDE == UINT32_C(648055) << 12, "the number in a label");
_Static_assert(CS_LABEL_MARK_SHIFT == 48 && CS_LABEL_MARK_ZERO == 1 && CS_MODE_ZERO == 1 && CS_MODE_DIAGNOSE == 2,
               "the policies");
_Static_assert(offsetof(cs_object, metadata) == 0 && offsetof(cs_object, counts) == 8 &&
                   offsetof(cs_object, fields) == 16 && CS_COUNTS_DONE == 0x102000001,
               "the offsets in an object");
#if defined(CS_LIBC_THREAD_OFFSET)
_Static_assert(CS_LIBC_THREAD_OFFSET == 0x2d0, "glibc's offset");
#endif

// Returns the encoded size of an object's memory (CS_LABEL_SIZE in slot.h), for any allocator. With another allocator
// than glibc's, this is the usable size plus a header of 8 bytes, rounded up to a multiple of 16.
static uint64_t size_of(cs_object *object) {
  return cs_label_size_of(cs_heap_is_glibc ? cs_chunk_bytes(object) : malloc_usable_size(object) + 23);
}

bool cs_slot_is_as_large(const cs_slot *slot, const cs_object *object) {
  return ((slot->label ^ cs_label_size_of(cs_chunk_bytes(object))) & CS_LABEL_SIZE) == 0;
}

// Returns the number of bytes that are charged to the budget for the object and its slot.
static uint32_t bytes_of(cs_object *object) {
  return cs_label_bytes(size_of(object)) + (uint32_t)sizeof(cs_slot);
}

// A slot that the caller has locked, and its object.
typedef struct place {
  cs_slot *slot;  // NULL: no slot
  cs_object *old; // the object that was in the slot when the caller locked it
} place;

// Locks a slot. If no slot can be locked, increments the counter for the reason.
static place take(cs_class *class, uint32_t bytes, bool is_for_explorer) {
  for (uint32_t tries = 0; tries < QUEUE_TRIES; tries++) {
    cs_slot *const slot = cs_queue_place(class, bytes, is_for_explorer);
    if (slot == NULL) {
      CS_COUNT(class, skipped_budget);
      return (place){0};
    }
    cs_object *const old = cs_slot_enter(slot);
    if (old != CS_SLOT_BUSY) return (place){slot, old};
  }
  CS_COUNT(class, skipped_busy);
  return (place){0};
}

// Evicts the object of a slot that the caller has locked, or passes it to the reaper. Returns false if the object
// cannot be evicted now.
static bool make_room(cs_class *class, cs_slot *slot, cs_object *old, bool is_last) {
  if (old == CS_SLOT_EMPTY) return true;
  if (cs_slot_policy(slot) != CS_MODE_ABSORB) return cs_evict(class, slot, old, is_last);
  if (!cs_reaper_give(slot, old)) return false;
  // The object's bytes are now counted in cs_reaper_bytes (reaper.h), and no longer charged to the budget of the slots.
  cs_budget_charge(-(int64_t)cs_slot_bytes(slot));
  return true;
}

// Returns the record number (slot.h) of a slot that was never used. cs_slot_fill_in() adds the stride to it.
static uint32_t first_number(const cs_class *class, const cs_slot *slot) {
  const bool is_explorer = slot < class->slots;
  const uint32_t index = (uint32_t)(is_explorer ? class->slots - 1 - slot : slot - class->slots);
  return index << CS_NUMBER_ORDINAL_SHIFT | (is_explorer ? CS_NUMBER_EXPLORER : 0) | class->index;
}

// Puts the object into the locked slot, after the eviction of the slot's old object. Returns false if the object gets
// no slot.
static bool put_into(cs_class *class, place place, cs_object *object, cs_mode policy, const void *frame) {
  cs_slot *const slot = place.slot;
  const uint32_t bytes = bytes_of(object);
  const bool fits = cs_budget_has_room(bytes, place.old == CS_SLOT_EMPTY ? 0 : cs_slot_bytes(slot));
  if (!make_room(class, slot, place.old, false)) {
    cs_slot_leave(slot, place.old);
    CS_COUNT(class, skipped_busy);
    return false;
  }
  // The budget can have no space for the new object, for example because the budget was reduced. In this case, the old
  // object leaves the slot, and the new object gets no slot.
  if (!fits) {
    cs_slot_leave(slot, CS_SLOT_EMPTY);
    CS_COUNT(class, skipped_budget);
    return false;
  }
  cs_budget_charge(bytes);
  // Under the policy absorb, a checksum takes the place of the record of the slot's previous object.
  if (policy == CS_MODE_ABSORB) slot->past = NULL;
  const uint32_t number = slot->ticks == 0 ? first_number(class, slot) : cs_label_number(slot->label);
  slot->label = cs_label_with_number(cs_label_mark_of(policy) | size_of(object), number);
  const bool takes_stack = atomic_load_explicit(&cs_stacks_are_on, memory_order_relaxed) != 0;
  cs_slot_fill_in(class, slot, object, policy, cs_thread_known()->number, takes_stack ? cs_stack_take(frame, false) : 0,
                  false);
  if (!cs_queue_publish(class, slot, object, false)) cs_queue_sweep(class);
  return true;
}

static void put(cs_class *class, place place, cs_object *object, cs_mode policy, const void *frame) {
  if (place.slot != NULL && put_into(class, place, object, policy, frame)) return;
  if (policy == CS_MODE_ABSORB) class->destroy(object);
  cs_claim_end(class, object);
}

void cs_queue_put_into(cs_class *class, cs_slot *slot, cs_object *old, cs_object *object, cs_mode policy,
                       const void *frame) {
  const place in_hand = {slot, old};
  put(class, old == CS_SLOT_BUSY ? take(class, bytes_of(object), false) : in_hand, object, policy, frame);
}

void cs_queue_put_slowly(cs_class *class, cs_object *object, cs_mode policy, const void *frame) {
  cs_thread_known();
  const bool is_for_explorer = cs_sample_is_chosen((uint32_t)cs_thread_random());
  // In a forked child, `is_listed` is false for every class, so no object gets a slot.
  const bool is_listed = atomic_load_explicit(&class->is_listed, memory_order_relaxed) == 1;
  put(class, is_listed ? take(class, bytes_of(object), is_for_explorer) : (place){0}, object, policy, frame);
}

void cs_queue_take_back(cs_class *class, cs_object *old) {
  if (old != NULL) {
    // The metadata is restored first, because free() can read the object's class, for example if the object has guard
    // pages.
    __atomic_store_n(&old->metadata, class->metadata, __ATOMIC_RELEASE);
    cs_object_free(class, old);
  }
  cs_queue_sweep(class);
}

void cs_queue_resize(cs_class *class, uint32_t limit) {
  atomic_store(&class->limit, limit);
  atomic_store(&class->explorer_most, limit / CS_EXPLORER_SHARE);
  cs_class_close(class);
}

// Evicts the object of a slot. Returns false if the object must wait for the reaper and the reaper's queue is full.
static bool clear(cs_class *class, cs_slot *slot) {
  cs_object *old = cs_slot_enter(slot);
  // The thread that has locked the slot soon unlocks it: it runs no code of the program meanwhile.
  while (old == CS_SLOT_BUSY) {
    sched_yield();
    old = cs_slot_enter(slot);
  }
  const bool is_empty = make_room(class, slot, old, true);
  cs_slot_leave(slot, is_empty ? CS_SLOT_EMPTY : old);
  return is_empty;
}

void cs_queue_empty(cs_class *class) {
  const cs_slot *const end = cs_slots_end(class);
  for (cs_slot *slot = cs_slots_begin(class); slot < end; slot++) {
    // The slot is not locked while this thread waits for the reaper, because a deinit that the reaper runs can need the
    // slot.
    while (!clear(class, slot)) {
      if (!cs_reaper_wait()) break;
    }
  }
  cs_reaper_call();
}

void cs_queue_sweep(cs_class *class) {
  // In a forked child, a slot can stay locked forever, for example if a signal handler interrupted a last release and
  // forked. clear() would then never return.
  if (cs_quarantine_is_forked()) return;
  const cs_slot *const end = cs_slots_end(class);
  for (cs_slot *slot = cs_slots_begin(class); slot < end; slot++) {
    if (atomic_load_explicit(&slot->object, memory_order_relaxed) != CS_SLOT_EMPTY) clear(class, slot);
  }
}

#endif
