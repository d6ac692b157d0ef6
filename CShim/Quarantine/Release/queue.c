// The places of a class: a ring in which the oldest object gives way, and beside it an explorer of a fifth of its size,
// which one object in twenty goes to and where a random one gives way. Threads meet only at atomic counters; one that
// finds a place taken by another goes on to the next and never waits.
#include <malloc.h>
#include <sched.h>
#include <x86intrin.h>

#include "../Table/places.h"
#include "queue.h"
#include "sampling.h"

#define QUEUE_TRIES 8
#define FIND_ROUNDS 1000
#define PAST_ROUNDS 8

_Atomic int64_t cs_queue_left = 1 << 20;
_Atomic uint64_t cs_queue_budget = 1 << 20;
const uint64_t cs_nobody[2][2];

// keep_x86_64.S has the same.
_Static_assert(offsetof(cs_class, metadata) == 16 && offsetof(cs_class, zombie) == 24 &&
                   offsetof(cs_class, counts) == 40 && offsetof(cs_class, bound) == 48 &&
                   offsetof(cs_class, is_listed) == 56 && offsetof(cs_class, turn) == 64,
               "the class");
_Static_assert(offsetof(cs_ring_class, admitted) == 0 && offsetof(cs_ring_class, evicted) == 8, "its counters");
_Static_assert(offsetof(cs_slot, object) == 0 && offsetof(cs_slot, ticks) == 8 && offsetof(cs_slot, label) == 16 &&
                   offsetof(cs_slot, thread) == 24 && offsetof(cs_slot, stack) == 28 && offsetof(cs_slot, past) == 32 &&
                   offsetof(cs_slot, past_ticks) == 40 && offsetof(cs_slot, past_label) == 48,
               "the place");
_Static_assert(CS_LABEL_SIZE_BITS == 16 && CS_NUMBER_STRIDE == UINT32_C(648055) << 12, "the number");
_Static_assert(CS_LABEL_MARK_SHIFT == 48 && CS_LABEL_MARK_ZERO == 1 && CS_QUARANTINE_ZERO == 1 &&
                   CS_QUARANTINE_DIAGNOSE == 2,
               "the policies");
_Static_assert(offsetof(cs_object, metadata) == 0 && offsetof(cs_object, counts) == 8 &&
                   offsetof(cs_object, fields) == 16 && CS_COUNTS_DONE == 0x102000001,
               "the object");
_Static_assert(CS_LIBC_THREAD_OFFSET == 0x2d0, "and what is not ours");

static bool has_room(uint32_t bytes, uint32_t instead_of) {
  return atomic_load_explicit(&cs_queue_left, memory_order_relaxed) + instead_of >= (int64_t)bytes;
}

// Of an object of any heap, whatever its size. glibc's chunks are multiples of 16 bytes.
static uint64_t size_of(cs_object *object) {
  return cs_label_size_of(cs_heap_is_glibc ? cs_chunk_bytes(object) : malloc_usable_size(object) + 23);
}

bool cs_slot_is_as_large(const cs_slot *slot, const cs_object *object) {
  return ((slot->label ^ cs_label_size_of(cs_chunk_bytes(object))) & CS_LABEL_SIZE) == 0;
}

// Of the object and of its place.
static uint32_t bytes_of(cs_object *object) {
  return cs_label_bytes(size_of(object)) + (uint32_t)sizeof(cs_slot);
}

// A place in hand.
typedef struct place {
  cs_slot *slot;  // NULL: there is none
  cs_object *old; // what was in it
} place;

static inline cs_slot *explorer_slot(const cs_class *class, uint32_t index) {
  return class->slots - 1 - index;
}

// The place behind the last, if it still is that; before it is counted, as no place that is has NULL in it.
static cs_slot *grow(_Atomic uint32_t *used, uint32_t present, cs_slot *slot) {
  cs_object *nothing = NULL;
  atomic_compare_exchange_strong(&slot->object, &nothing, CS_SLOT_EMPTY);
  return atomic_compare_exchange_strong(used, &present, present + 1) ? slot : NULL;
}

// NULL: the explorer has no place.
CS_SELDOM static cs_slot *explore_or_grow(cs_class *class, uint32_t bytes, uint32_t lot) {
  const uint32_t most = atomic_load_explicit(&class->explorer_most, memory_order_relaxed);
  uint32_t present = atomic_load_explicit(&class->explorer_used, memory_order_relaxed);
  if (present < most && has_room(bytes, 0)) {
    cs_slot *const slot = grow(&class->explorer_used, present, explorer_slot(class, present));
    if (slot != NULL) return slot;
  }
  if (present > most) present = most;
  return present == 0 ? NULL : explorer_slot(class, (uint32_t)((uint64_t)lot * present >> 32));
}

void cs_queue_close(cs_class *class) {
  // seq_cst: pairs with set_full.
  atomic_store(&class->full, 0);
  atomic_store(&class->bound, 0);
}

// From now on the short way through cs_queue_put is open.
static void set_full(cs_class *class, uint32_t places) {
  // Who goes that way reads the size of a chunk, and the thread's number.
  if (!cs_heap_is_glibc || !cs_libc_is_glibc) return;
  atomic_store(&class->full, places);
  // Not 0, and not the same for another number of places.
  atomic_store(&class->bound, places);
  // Else cs_queue_close may have been between, whose caller changed one of these before.
  if (atomic_load(&class->limit) < places || atomic_load(&class->is_listed) != 1 || atomic_load(&cs_queue_left) < 0)
    cs_queue_close(class);
}

// The slow way takes a turn of its own: else each second place would not be visited while the short one is closed.
// Where another thread has taken one meanwhile, a place is passed over.
static void give_back_turn(cs_class *class, uintptr_t turn, uintptr_t instead) {
  uintptr_t next = turn + sizeof(cs_slot);
  atomic_compare_exchange_strong(&class->turn, &next, instead);
}

// About what an object of the class will be charged.
static uint32_t usual_bytes(const cs_class *class) {
  return class->metadata->instance_size + (uint32_t)sizeof(cs_slot) + 32;
}

// Whether the queue may have no more places than it has now; and no fewer.
static bool stays_full(const cs_class *class, uint32_t full) {
  const int64_t left = atomic_load_explicit(&cs_queue_left, memory_order_relaxed);
  return left >= 0 && (full >= atomic_load_explicit(&class->limit, memory_order_relaxed) || left <= usual_bytes(class));
}

// The explorer's place for a lot; where it has all that it may have, without a detour.
static inline cs_slot *explore(cs_class *class, uint32_t lot) {
  const uint32_t most = atomic_load_explicit(&class->explorer_most, memory_order_relaxed);
  if (CS_USUALLY(atomic_load_explicit(&class->explorer_used, memory_order_relaxed) == most && most != 0))
    return explorer_slot(class, (uint32_t)((uint64_t)lot * most >> 32));
  return explore_or_grow(class, usual_bytes(class), lot);
}

// Where the explorer's next object is drawn, if the turn after this one is `next`. `bound` is what was seen of it.
static inline void draw_bound(cs_class *class, uintptr_t bound, uintptr_t next, uintptr_t end, uint32_t lot) {
  const uintptr_t drawn = next + (cs_sample_draw(lot) - 1) * sizeof(cs_slot);
  atomic_compare_exchange_strong(&class->bound, &bound, drawn < end ? drawn : end);
}

// Of a turn that is not at a bound which was drawn: of a new round, or of a thread that was overtaken. It draws a lot
// of its own.
__attribute__((noinline)) static cs_slot *turn_behind(cs_class *class, uintptr_t turn) {
  // Before `full`: where they do not belong together, the bound stays as it is.
  const uintptr_t bound = atomic_load(&class->bound);
  const uint32_t full = atomic_load(&class->full);
  const uintptr_t start = (uintptr_t)class->slots, bytes = full * sizeof(cs_slot), end = start + bytes;
  // Who is not known draws no lots.
  bool is_open = bound != 0 && full != 0 && cs_this_thread.number != 0;
  if (is_open && turn >= end && !stays_full(class, full)) {
    cs_queue_close(class);
    is_open = false;
  }
  if (!is_open) {
    give_back_turn(class, turn, turn);
    return NULL;
  }
  if (turn < bound && turn < end) return (cs_slot *)turn;
  const uint64_t random = cs_thread_random();
  const uint32_t lot = (uint32_t)random;
  const uintptr_t at = turn < end ? turn : start + (turn - start) % bytes;
  // Of a lot that has won the rest is as good as any other.
  cs_slot *const slot = turn == bound && turn < end ? explore(class, lot)
                        : cs_sample_wins(lot)       ? explore(class, lot * CS_SAMPLE_WINNERS)
                                                    : NULL;
  // Before the turns begin anew: until then each one is behind it.
  draw_bound(class, bound, slot == NULL ? at + sizeof(cs_slot) : at, end, (uint32_t)(random >> 32));
  if (slot != NULL) {
    give_back_turn(class, turn, at);
    return slot;
  }
  if (turn != at) {
    // What is left of a turn by all places stays the same, whoever does this, and however often.
    uintptr_t present = atomic_load_explicit(&class->turn, memory_order_relaxed);
    if (present >= end) atomic_compare_exchange_strong(&class->turn, &present, start + (present - start) % bytes);
  }
  return (cs_slot *)at;
}

// Whoever comes here draws how far away the explorer's next object is. A turn at the bound was drawn before; one behind
// it draws a lot of its own. So each object has one chance, whoever draws, and very nearly so where threads overtake
// each other.
cs_slot *cs_queue_turn(cs_class *class, uintptr_t turn) {
  const uintptr_t bound = atomic_load(&class->bound);
  const uintptr_t end = (uintptr_t)(class->slots + atomic_load(&class->full));
  // No turn is where a queue that is closed has its bound.
  if (!CS_USUALLY(turn == bound) || !CS_USUALLY(turn < end) || !CS_USUALLY(cs_this_thread.number != 0))
    return turn_behind(class, turn);
  const uint64_t random = cs_thread_random();
  cs_slot *const slot = explore(class, (uint32_t)random);
  if (!CS_USUALLY(slot != NULL)) return turn_behind(class, turn);
  draw_bound(class, bound, turn, end, (uint32_t)(random >> 32));
  // The queue's place is the next one's.
  give_back_turn(class, turn, turn);
  return slot;
}

cs_slot *cs_queue_seldom_turn(cs_class *class, uintptr_t turn) {
  return cs_queue_turn(class, turn);
}

// NULL: there is no place at all.
static cs_slot *queue(cs_class *class, uint32_t bytes) {
  const uint32_t limit = atomic_load_explicit(&class->limit, memory_order_relaxed);
  uint32_t present = atomic_load_explicit(&class->queue_used, memory_order_relaxed);
  if (present < limit && has_room(bytes, 0)) {
    cs_slot *const slot = grow(&class->queue_used, present, &class->slots[present]);
    if (slot != NULL) return slot;
  }
  if (present > limit) present = limit;
  if (present == 0) return NULL;
  if (present == limit || !has_room(bytes, 0)) set_full(class, present);
  const uintptr_t turn = atomic_fetch_add_explicit(&class->turn, sizeof(cs_slot), memory_order_relaxed);
  return &class->slots[(turn - (uintptr_t)class->slots) / sizeof(cs_slot) % present];
}

// No place: counts why.
static place take(cs_class *class, uint32_t bytes, bool is_for_explorer) {
  for (uint32_t tries = 0; tries < QUEUE_TRIES; tries++) {
    cs_slot *slot = is_for_explorer ? explore_or_grow(class, bytes, (uint32_t)cs_thread_random()) : NULL;
    if (slot == NULL) slot = queue(class, bytes);
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

// What is in the place that is in hand goes. False: it cannot go now.
static bool make_room(cs_class *class, cs_slot *slot, cs_object *old, bool is_last) {
  if (old == CS_SLOT_EMPTY) return true;
  if (cs_slot_policy(slot) != CS_QUARANTINE_ABSORB) return cs_evict(class, slot, old, is_last);
  if (!cs_reaper_give(slot, old)) return false;
  // From now on it counts among what waits.
  cs_queue_charge(-(int64_t)cs_slot_bytes(slot));
  return true;
}

// The place's own, as it is before its first tenant.
static uint32_t first_number(const cs_class *class, const cs_slot *slot) {
  const bool is_explorer = slot < class->slots;
  const uint32_t index = (uint32_t)(is_explorer ? class->slots - 1 - slot : slot - class->slots);
  return index << CS_NUMBER_ORDINAL_SHIFT | (is_explorer ? CS_NUMBER_EXPLORER : 0) | class->index;
}

// False: the object has no place.
static bool put_into(cs_class *class, place place, cs_object *object, cs_quarantine_policy policy, const void *frame) {
  cs_slot *const slot = place.slot;
  const uint32_t bytes = bytes_of(object);
  const bool fits = has_room(bytes, place.old == CS_SLOT_EMPTY ? 0 : cs_slot_bytes(slot));
  if (!make_room(class, slot, place.old, false)) {
    cs_slot_leave(slot, place.old);
    CS_COUNT(class, skipped_busy);
    return false;
  }
  // As when the budget has become smaller: the older one goes, and nobody comes.
  if (!fits) {
    cs_slot_leave(slot, CS_SLOT_EMPTY);
    CS_COUNT(class, skipped_budget);
    return false;
  }
  cs_queue_charge(bytes);
  // A checksum follows.
  if (policy == CS_QUARANTINE_ABSORB) slot->past = NULL;
  const uint32_t number = slot->ticks == 0 ? first_number(class, slot) : cs_label_number(slot->label);
  slot->label = cs_label_with_number(cs_label_mark_of(policy) | size_of(object), number);
  const bool takes_stack = atomic_load_explicit(&cs_stacks_are_on, memory_order_relaxed) != 0;
  cs_slot_fill_in(class, slot, object, policy, cs_thread_known()->number, takes_stack ? cs_stack_take(frame, false) : 0,
                  false);
  if (!cs_queue_publish(class, slot, object, false)) cs_queue_sweep(class);
  return true;
}

static void put(cs_class *class, place place, cs_object *object, cs_quarantine_policy policy, const void *frame) {
  if (place.slot != NULL && put_into(class, place, object, policy, frame)) return;
  if (policy == CS_QUARANTINE_ABSORB) class->destroy(object);
  cs_claim_end(class, object);
}

void cs_queue_put_into(cs_class *class, cs_slot *slot, cs_object *old, cs_object *object, cs_quarantine_policy policy,
                       const void *frame) {
  const place in_hand = {slot, old};
  put(class, old == CS_SLOT_BUSY ? take(class, bytes_of(object), false) : in_hand, object, policy, frame);
}

void cs_queue_put_slowly(cs_class *class, cs_object *object, cs_quarantine_policy policy, const void *frame) {
  cs_thread_known();
  const bool is_for_explorer = cs_sample_wins((uint32_t)cs_thread_random());
  // Also in a forked child.
  const bool is_listed = atomic_load_explicit(&class->is_listed, memory_order_relaxed) == 1;
  put(class, is_listed ? take(class, bytes_of(object), is_for_explorer) : (place){0}, object, policy, frame);
}

void cs_queue_take_back(cs_class *class, cs_object *old) {
  if (old != NULL) {
    // What frees it looks at its class, in a guard slot for one.
    __atomic_store_n(&old->metadata, class->metadata, __ATOMIC_RELEASE);
    cs_object_free(class, old);
  }
  cs_queue_sweep(class);
}

void cs_queue_resize(cs_class *class, uint32_t limit) {
  atomic_store(&class->limit, limit);
  atomic_store(&class->explorer_most, limit / CS_EXPLORER_SHARE);
  cs_queue_close(class);
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
  cs_slot_leave(slot, is_empty ? CS_SLOT_EMPTY : old);
  return is_empty;
}

void cs_queue_empty(cs_class *class) {
  const cs_slot *const end = cs_slots_end(class);
  for (cs_slot *slot = cs_slots_begin(class); slot < end; slot++) {
    // Not with the place in hand: a deinit that the reaper runs may want it.
    while (!clear(class, slot)) {
      if (!cs_reaper_wait()) break;
    }
  }
  cs_reaper_call();
}

void cs_queue_sweep(cs_class *class) {
  // Who forks in a signal handler, in the middle of a release, has a place in hand for ever.
  if (cs_quarantine_is_forked()) return;
  const cs_slot *const end = cs_slots_end(class);
  for (cs_slot *slot = cs_slots_begin(class); slot < end; slot++) {
    if (atomic_load_explicit(&slot->object, memory_order_relaxed) != CS_SLOT_EMPTY) clear(class, slot);
  }
}

// The youngest of those that there are.
static bool find(const cs_class *class, const cs_object *object, bool is_past, cs_slot *ret_slot) {
  const cs_slot *const end = cs_slots_end(class);
  // A ghost is asked for where no object was found, in each class: not for long.
  for (uint32_t round = 0; round < (is_past ? PAST_ROUNDS : FIND_ROUNDS); round++) {
    bool is_busy = false, is_found = false;
    for (cs_slot *slot = cs_slots_begin(class); slot < end; slot++) {
      cs_slot candidate;
      const int found = cs_slot_look(slot, object, is_past, &candidate);
      if (found < 0) is_busy = true;
      if (found <= 0 || (is_found && candidate.ticks <= ret_slot->ticks)) continue;
      *ret_slot = candidate;
      is_found = true;
      // An object is in one place at a time.
      if (!is_past) return true;
    }
    if (is_found) return true;
    if (!is_busy) return false;
    _mm_pause();
  }
  return false;
}

bool cs_queue_find(const cs_class *class, const cs_object *object, cs_slot *ret_slot) {
  return find(class, object, false, ret_slot);
}

bool cs_queue_find_past(const cs_class *class, const cs_object *object, cs_slot *ret_slot) {
  return find(class, object, true, ret_slot);
}
