// The places of a class: a ring in which the oldest object gives way, and beside it an explorer of a fifth of its size,
// which one object in twenty goes to and where a random one gives way. Threads meet only at atomic counters; one that
// finds a place taken by another goes on to the next and never waits.
#include <malloc.h>
#include <sched.h>
#include <x86intrin.h>

#include "queue.h"

#define QUEUE_TRIES 8
#define FIND_ROUNDS 1000

_Atomic int64_t cs_queue_left = 1 << 20;
_Atomic uint64_t cs_queue_budget = 1 << 20;

static bool has_room(uint32_t bytes, uint32_t instead_of) {
  return atomic_load_explicit(&cs_queue_left, memory_order_relaxed) + instead_of >= (int64_t)bytes;
}

// Of the object and of its place.
static uint32_t bytes_of(cs_object *object) {
  const uint64_t chunk = cs_heap_is_glibc ? cs_chunk_bytes(object) : malloc_usable_size(object) + 8;
  return chunk < UINT32_MAX / 2 ? (uint32_t)(chunk + sizeof(cs_slot)) : UINT32_MAX / 2;
}

// A place in hand.
typedef struct place {
  cs_slot *slot;    // NULL: there is none
  cs_object *old;   // what was in it
  uint32_t ordinal; // of the next tenant
} place;

// Whether this object is the explorer's. It has been counted.
static bool explores(void) {
  cs_thread *const thread = &cs_this_thread;
  if (thread->number == 0) {
    // Only now it is known which one is.
    cs_thread_learn();
    thread->countdown--;
  }
  if (thread->countdown != 0) return false;
  thread->countdown = cs_thread_draw();
  return true;
}

static inline cs_slot *explorer_slot(const cs_class *class, uint32_t index) {
  return class->slots - 1 - index;
}

// One place more. False: the limit or the budget is reached, or another thread was quicker.
static bool grow(_Atomic uint32_t *used, uint32_t limit, uint32_t bytes, uint32_t *ret_index) {
  uint32_t present = atomic_load_explicit(used, memory_order_relaxed);
  if (present >= limit || !has_room(bytes, 0)) return false;
  if (!atomic_compare_exchange_strong(used, &present, present + 1)) return false;
  *ret_index = present;
  return true;
}

// False: the explorer has no place.
static bool explore(cs_class *class, uint32_t bytes, place *ret_place) {
  const uint32_t most = atomic_load_explicit(&class->limit, memory_order_relaxed) / CS_EXPLORER_SHARE;
  uint32_t index = 0;
  if (!grow(&class->explorer_used, most, bytes, &index)) {
    uint32_t present = atomic_load_explicit(&class->explorer_used, memory_order_relaxed);
    if (present > most) present = most;
    if (present == 0) return false;
    index = (uint32_t)((cs_thread_random() >> 32) % present);
  }
  ret_place->slot = explorer_slot(class, index);
  ret_place->ordinal =
      (atomic_fetch_add_explicit(&class->explored, 1, memory_order_relaxed) & CS_ID_MASK) | CS_ID_EXPLORER;
  return true;
}

// From now on the short way through cs_queue_put is open.
static void set_full(cs_class *class, uint32_t limit) {
  // Who goes that way reads the size of a chunk.
  if (!cs_heap_is_glibc) return;
  atomic_store(&class->reciprocal, UINT64_MAX / limit + 1);
  atomic_store(&class->full, limit);
  // Else cs_queue_resize may have been between, and this figure is the old one.
  if (atomic_load(&class->limit) != limit) atomic_store(&class->full, 0);
}

// False: there is no place at all.
static bool queue(cs_class *class, uint32_t bytes, place *ret_place) {
  const uint32_t limit = atomic_load_explicit(&class->limit, memory_order_relaxed);
  uint32_t present = atomic_load_explicit(&class->queue_used, memory_order_relaxed), index = 0;
  if (present < limit && grow(&class->queue_used, limit, bytes, &index)) {
    ret_place->slot = &class->slots[index];
    // From the end, so that no turn has the same.
    ret_place->ordinal = CS_ID_MASK - index;
    return true;
  }
  if (present >= limit) {
    present = limit;
    set_full(class, limit);
  }
  if (present == 0) return false;
  const uint32_t turn = (uint32_t)atomic_fetch_add_explicit(&class->turn, 1, memory_order_relaxed);
  ret_place->slot = &class->slots[turn % present];
  ret_place->ordinal = turn & CS_ID_MASK;
  return true;
}

// No place: counts why.
static place take(cs_class *class, uint32_t bytes, bool is_for_explorer) {
  place taken = {0};
  for (uint32_t tries = 0; tries < QUEUE_TRIES; tries++) {
    const bool is_explorer = is_for_explorer && explore(class, bytes, &taken);
    if (!is_explorer && !queue(class, bytes, &taken)) {
      CS_COUNT(class, skipped_budget);
      return (place){0};
    }
    taken.old = cs_slot_enter(taken.slot);
    if (taken.old == CS_SLOT_BUSY) continue;
    taken.slot->is_explorer = is_explorer ? 1 : 0;
    return taken;
  }
  CS_COUNT(class, skipped_busy);
  return (place){0};
}

// What is in the place that is in hand goes. False: it cannot go now.
static bool make_room(cs_class *class, cs_slot *slot, cs_object *old, bool is_last) {
  if (old == NULL) return true;
  if ((slot->policy & ~CS_SLOT_STAYED) != CS_QUARANTINE_ABSORB) return cs_evict(class, slot, old, is_last);
  if (!cs_reaper_give(class, slot, old)) return false;
  // From now on it counts among what waits.
  cs_queue_charge(-(int64_t)slot->bytes);
  return true;
}

static bool put_into(cs_class *class, const place *place, cs_object *object, cs_quarantine_policy policy,
                     const void *frame) {
  cs_slot *const slot = place->slot;
  const uint32_t bytes = bytes_of(object);
  const bool fits = has_room(bytes, place->old == NULL ? 0 : slot->bytes);
  if (!make_room(class, slot, place->old, false)) {
    cs_slot_leave(slot, place->old);
    CS_COUNT(class, skipped_busy);
    return false;
  }
  // As when the budget has become smaller: the older one goes, and nobody comes.
  if (!fits) {
    cs_slot_leave(slot, NULL);
    CS_COUNT(class, skipped_budget);
    return false;
  }
  cs_queue_charge(bytes);
  slot->bytes = bytes;
  slot->policy = policy;
  cs_slot_fill_in(class, slot, place->ordinal, object, policy, frame);
  return cs_queue_publish(class, slot, object);
}

bool cs_queue_put_into(cs_class *class, cs_slot *slot, cs_object *old, uint32_t ordinal, cs_object *object,
                       cs_quarantine_policy policy, const void *frame) {
  const place in_hand = {slot, old, ordinal};
  const place place = old == CS_SLOT_BUSY ? take(class, bytes_of(object), false) : in_hand;
  return place.slot != NULL && put_into(class, &place, object, policy, frame);
}

bool cs_queue_put_slowly(cs_class *class, cs_object *object, cs_quarantine_policy policy, const void *frame) {
  const place place = take(class, bytes_of(object), explores());
  return place.slot != NULL && put_into(class, &place, object, policy, frame);
}

void cs_queue_resize(cs_class *class, uint32_t limit) {
  atomic_store(&class->limit, limit);
  atomic_store(&class->full, 0);
}

// Both kinds of places lie side by side: the explorer's before `slots`, the queue's from there on.
static cs_slot *first_slot(const cs_class *class) {
  return class->slots - atomic_load(&((cs_class *)(uintptr_t)class)->explorer_used);
}

static cs_slot *end_of_slots(const cs_class *class) {
  return class->slots + atomic_load(&((cs_class *)(uintptr_t)class)->queue_used);
}

// False: the reaper is behind.
static bool clear(cs_class *class, cs_slot *slot) {
  cs_object *old = cs_slot_enter(slot);
  // Who has it is about to leave: no code of the program runs meanwhile.
  while (old == CS_SLOT_BUSY) {
    sched_yield();
    old = cs_slot_enter(slot);
  }
  const bool is_empty = make_room(class, slot, old, true);
  cs_slot_leave(slot, is_empty ? NULL : old);
  return is_empty;
}

void cs_queue_empty(cs_class *class) {
  const cs_slot *const end = end_of_slots(class);
  for (cs_slot *slot = first_slot(class); slot < end; slot++) {
    // Not with the place in hand: a deinit that the reaper runs may want it.
    while (!clear(class, slot)) {
      if (!cs_reaper_wait()) break;
    }
  }
  cs_reaper_call();
}

void cs_queue_sweep(cs_class *class) {
  const cs_slot *const end = end_of_slots(class);
  for (cs_slot *slot = first_slot(class); slot < end; slot++) {
    if (atomic_load_explicit(&slot->object, memory_order_relaxed) != NULL) clear(class, slot);
  }
}

// One look at a place: 1 found, 0 not here, -1 busy.
static int look(cs_slot *slot, const cs_object *object, cs_slot *ret_slot) {
  const cs_object *const before = atomic_load_explicit(&slot->object, memory_order_acquire);
  if (before == CS_SLOT_BUSY) return -1;
  if (before != object) return 0;
  const uint64_t ticks = __atomic_load_n(&slot->ticks, __ATOMIC_RELAXED);
  const uint32_t id = __atomic_load_n(&slot->id, __ATOMIC_RELAXED);
  atomic_thread_fence(memory_order_acquire);
  const cs_slot copy = *slot;
  atomic_thread_fence(memory_order_acquire);
  // The same object may be there again, in a new life.
  if (__atomic_load_n(&slot->ticks, __ATOMIC_RELAXED) != ticks || __atomic_load_n(&slot->id, __ATOMIC_RELAXED) != id ||
      copy.ticks != ticks || copy.id != id || atomic_load_explicit(&slot->object, memory_order_relaxed) != object)
    return -1;
  *ret_slot = copy;
  return 1;
}

bool cs_queue_find(const cs_class *class, const cs_object *object, cs_slot *ret_slot) {
  const cs_slot *const end = end_of_slots(class);
  for (uint32_t round = 0; round < FIND_ROUNDS; round++) {
    bool is_busy = false;
    for (cs_slot *slot = first_slot(class); slot < end; slot++) {
      const int found = look(slot, object, ret_slot);
      if (found > 0) return true;
      if (found < 0) is_busy = true;
    }
    if (!is_busy) return false;
    _mm_pause();
  }
  return false;
}
