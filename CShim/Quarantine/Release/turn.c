#include "cs_platform.h"

#if CS_SUPPORTED

#include "turn.h"

#include "../Machine/libc.h"
#include "../Stacks/thread.h"
#include "../Table/classes.h"
#include "../Table/places.h"
#include "sampling.h"

static inline cs_slot *explorer_slot(const cs_class *class, uint32_t index) {
  return class->slots - 1 - index;
}

// Adds `slot`, the slot after the last used one, to the used slots. Returns NULL if another thread has already added
// it. The slot is marked as empty before `used` counts it, so no counted slot contains NULL.
static cs_slot *grow(_Atomic uint32_t *used, uint32_t present, cs_slot *slot) {
  cs_object *nothing = NULL;
  atomic_compare_exchange_strong(&slot->object, &nothing, CS_SLOT_EMPTY);
  return atomic_compare_exchange_strong(used, &present, present + 1) ? slot : NULL;
}

// Adds a slot to the explorer (the slots from which objects are evicted at random) and returns it, or returns one of
// its slots at random. Returns NULL if the explorer has no slot.
CS_SELDOM static cs_slot *explore_or_grow(cs_class *class, uint32_t bytes, uint32_t number) {
  const uint32_t most = atomic_load_explicit(&class->explorer_most, memory_order_relaxed);
  uint32_t present = atomic_load_explicit(&class->explorer_used, memory_order_relaxed);
  if (present < most && cs_budget_has_room(bytes, 0)) {
    cs_slot *const slot = grow(&class->explorer_used, present, explorer_slot(class, present));
    if (slot != NULL) return slot;
  }
  if (present > most) present = most;
  return present == 0 ? NULL : explorer_slot(class, (uint32_t)((uint64_t)number * present >> 32));
}

// Enables the fast path (cs_queue_put), because the class's queue has as many slots as it can get.
static void set_full(cs_class *class, uint32_t places) {
  // The fast path relies on glibc: on the sizes in malloc's chunk headers, and on the offset of the thread ID.
  if (!cs_heap_is_glibc || !cs_libc_is_glibc) return;
  atomic_store(&class->full, places);
  // The number of slots serves as the first bound. It is not 0 and lower than any turn (the address of a slot), so the
  // first release samples a new bound. Each change of the number of slots stores another value here. The
  // compare-and-exchange of a thread that has read an outdated bound therefore fails.
  atomic_store(&class->bound, places);
  // Checks the limit, the listing and the budget again, because another thread can have changed one of these values and
  // called cs_class_close before the two stores.
  if (atomic_load(&class->limit) < places || atomic_load(&class->is_listed) != 1 || atomic_load(&cs_budget_left) < 0)
    cs_class_close(class);
}

// A turn is the address of the slot that an object gets; class->turn is the next one. A thread that took `turn` but
// does not use it sets class->turn back to `instead`, because the slow path takes a turn of its own. Otherwise, every
// second slot would be skipped while the fast path is disabled. If another thread has already taken the next turn, one
// slot is skipped.
static void give_back_turn(cs_class *class, uintptr_t turn, uintptr_t instead) {
  uintptr_t next = turn + sizeof(cs_slot);
  atomic_compare_exchange_strong(&class->turn, &next, instead);
}

// Returns the approximate number of bytes that are charged to the budget for an object of the class.
static uint32_t usual_bytes(const cs_class *class) {
  return class->metadata->instance_size + (uint32_t)sizeof(cs_slot) + 32;
}

// Returns whether the queue must keep its `full` slots: the limit of the class is reached, or the budget has no space
// for one more object.
static bool stays_full(const cs_class *class, uint32_t full) {
  const int64_t left = atomic_load_explicit(&cs_budget_left, memory_order_relaxed);
  return left >= 0 && (full >= atomic_load_explicit(&class->limit, memory_order_relaxed) || left <= usual_bytes(class));
}

// Returns the slot of the explorer that the random number `number` selects, or adds a slot if the explorer does not
// have all its slots yet.
static inline cs_slot *explore(cs_class *class, uint32_t number) {
  const uint32_t most = atomic_load_explicit(&class->explorer_most, memory_order_relaxed);
  if (CS_USUALLY(atomic_load_explicit(&class->explorer_used, memory_order_relaxed) == most && most != 0))
    return explorer_slot(class, (uint32_t)((uint64_t)number * most >> 32));
  return explore_or_grow(class, usual_bytes(class), number);
}

// Samples the distance to the next object that goes to the explorer, and stores the turn of that object in the class's
// `bound`. `next` is the first turn that can be sampled. `bound` is the value that the caller has read. If another
// thread has changed class->bound since then, this function does not change it.
static inline void sample_bound(cs_class *class, uintptr_t bound, uintptr_t next, uintptr_t end, uint32_t number) {
  const uintptr_t sampled = next + (cs_sample_distance(number) - 1) * sizeof(cs_slot);
  atomic_compare_exchange_strong(&class->bound, &bound, sampled < end ? sampled : end);
}

// Handles a turn for which the bound says nothing: the first turn after the last slot, or the turn of a thread that
// other threads overtook. A separate random number decides whether the object of this turn goes to the explorer.
__attribute__((noinline)) static cs_slot *turn_behind(cs_class *class, uintptr_t turn) {
  // Reads `bound` before `full`. If another thread changes `bound` and `full` between the two reads, the exchange of
  // the bound fails.
  const uintptr_t bound = atomic_load(&class->bound);
  const uint32_t full = atomic_load(&class->full);
  const uintptr_t start = (uintptr_t)class->slots, bytes = full * sizeof(cs_slot), end = start + bytes;
  // If this thread has no random state yet, its object takes the slow path.
  bool is_open = bound != 0 && full != 0 && cs_this_thread.number != 0;
  if (is_open && turn >= end && !stays_full(class, full)) {
    cs_class_close(class);
    is_open = false;
  }
  if (!is_open) {
    give_back_turn(class, turn, turn);
    return NULL;
  }
  if (turn < bound && turn < end) return (cs_slot *)turn;
  const uint64_t random = cs_thread_random();
  const uint32_t number = (uint32_t)random;
  const uintptr_t at = turn < end ? turn : start + (turn - start) % bytes;
  // A random number that sends an object to the explorer is below 2^32 / CS_SAMPLE_RATE. Its product with the rate is
  // again a random 32-bit number, which selects the slot.
  cs_slot *const slot = turn == bound && turn < end   ? explore(class, number)
                        : cs_sample_is_chosen(number) ? explore(class, number * CS_SAMPLE_RATE)
                                                      : NULL;
  // Sets the bound before class->turn wraps around from the last slot to the first. Until it has wrapped around, each
  // turn is at or above the bound and therefore comes to this function.
  sample_bound(class, bound, slot == NULL ? at + sizeof(cs_slot) : at, end, (uint32_t)(random >> 32));
  if (slot != NULL) {
    give_back_turn(class, turn, at);
    return slot;
  }
  if (turn != at) {
    // Wraps class->turn around. Several threads can do this at the same time, because the turn stays the same modulo
    // the size of the queue.
    uintptr_t present = atomic_load_explicit(&class->turn, memory_order_relaxed);
    if (present >= end) atomic_compare_exchange_strong(&class->turn, &present, start + (present - start) % bytes);
  }
  return (cs_slot *)at;
}

// An object whose turn is the bound goes to the explorer: this was decided when the bound was sampled. For an object
// whose turn is above the bound, a separate random number decides. Each object is therefore considered once, or
// approximately once if threads overtake each other.
cs_slot *cs_queue_turn(cs_class *class, uintptr_t turn) {
  const uintptr_t bound = atomic_load(&class->bound);
  const uintptr_t end = (uintptr_t)(class->slots + atomic_load(&class->full));
  // If the fast path is disabled, the bound is 0, which is never equal to a turn.
  if (!CS_USUALLY(turn == bound) || !CS_USUALLY(turn < end) || !CS_USUALLY(cs_this_thread.number != 0))
    return turn_behind(class, turn);
  const uint64_t random = cs_thread_random();
  cs_slot *const slot = explore(class, (uint32_t)random);
  if (!CS_USUALLY(slot != NULL)) return turn_behind(class, turn);
  sample_bound(class, bound, turn, end, (uint32_t)(random >> 32));
  // The object goes to the explorer, so the next object gets the slot of the queue that belongs to this turn.
  give_back_turn(class, turn, turn);
  return slot;
}

cs_slot *cs_queue_seldom_turn(cs_class *class, uintptr_t turn) {
  return cs_queue_turn(class, turn);
}

// Returns the next slot of the queue, or NULL if the queue has no slot.
static cs_slot *queue(cs_class *class, uint32_t bytes) {
  const uint32_t limit = atomic_load_explicit(&class->limit, memory_order_relaxed);
  uint32_t present = atomic_load_explicit(&class->queue_used, memory_order_relaxed);
  if (present < limit && cs_budget_has_room(bytes, 0)) {
    cs_slot *const slot = grow(&class->queue_used, present, &class->slots[present]);
    if (slot != NULL) return slot;
  }
  if (present > limit) present = limit;
  if (present == 0) return NULL;
  if (present == limit || !cs_budget_has_room(bytes, 0)) set_full(class, present);
  const uintptr_t turn = atomic_fetch_add_explicit(&class->turn, sizeof(cs_slot), memory_order_relaxed);
  return &class->slots[(turn - (uintptr_t)class->slots) / sizeof(cs_slot) % present];
}

cs_slot *cs_queue_place(cs_class *class, uint32_t bytes, bool is_for_explorer) {
  cs_slot *const slot = is_for_explorer ? explore_or_grow(class, bytes, (uint32_t)cs_thread_random()) : NULL;
  return slot != NULL ? slot : queue(class, bytes);
}

#endif
