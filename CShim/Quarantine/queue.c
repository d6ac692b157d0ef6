// The places of a class: a ring in which the oldest object gives way, and beside it an explorer of a fifth of its size,
// which one object in twenty goes to and where a random one gives way. Threads meet only at atomic counters; one that
// finds a place taken by another goes on to the next and never waits.
#include <sched.h>
#include <x86intrin.h>

#include "quarantine.h"
#include "queue.h"

#define FIND_ROUNDS 1000

_Atomic uint64_t cs_queue_bytes;
_Atomic uint64_t cs_queue_budget = 1 << 20;

static inline uint64_t scatter(uint64_t value) {
  value = (value ^ (value >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  value = (value ^ (value >> 27)) * UINT64_C(0x94D049BB133111EB);
  return value ^ (value >> 31);
}

static inline cs_slot *explorer_slot(const cs_class *class, uint32_t index) {
  return class->slots - 1 - index;
}

// One place more. False: the limit or the budget is reached, or another thread was quicker.
static bool grow(_Atomic uint32_t *used, uint32_t limit, uint32_t bytes, uint32_t *ret_index) {
  uint32_t present = atomic_load_explicit(used, memory_order_relaxed);
  if (present >= limit || !cs_queue_has_room(bytes, 0)) return false;
  if (!atomic_compare_exchange_strong(used, &present, present + 1)) return false;
  *ret_index = present;
  return true;
}

static cs_slot *explore(cs_class *class, uint64_t random, uint32_t most, uint32_t bytes) {
  uint32_t index = 0;
  if (!grow(&class->explorer_used, most, bytes, &index)) {
    uint32_t present = atomic_load_explicit(&class->explorer_used, memory_order_relaxed);
    if (present > most) present = most;
    if (present == 0) return NULL;
    index = (uint32_t)((scatter(random) >> 32) % present);
  }
  cs_slot *const slot = explorer_slot(class, index);
  slot->is_explorer = 1;
  return slot;
}

// The explorer's turn, or the queue is not full yet. NULL: there is no place at all.
cs_slot *cs_queue_choose(cs_class *class, uint64_t random, cs_object *object) {
  const uint32_t limit = atomic_load_explicit(&class->limit, memory_order_relaxed), bytes = cs_queue_bytes_of(object);
  if (random < CS_EXPLORED && limit >= CS_EXPLORER_SHARE) {
    cs_slot *const slot = explore(class, random, limit / CS_EXPLORER_SHARE, bytes);
    if (slot != NULL) return slot;
  }
  uint32_t present = atomic_load_explicit(&class->queue_used, memory_order_relaxed), index = 0;
  if (present < limit && grow(&class->queue_used, limit, bytes, &index)) return &class->slots[index];
  if (present >= limit) {
    present = limit;
    atomic_store(&class->full, limit);
    // Else cs_queue_resize may have been between, and this figure is the old one.
    if (atomic_load(&class->limit) != limit) atomic_store(&class->full, 0);
  }
  if (present == 0) return NULL;
  return &class->slots[(uint32_t)atomic_fetch_add_explicit(&class->turn, 1, memory_order_relaxed) % present];
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
  uint64_t sequence = 0;
  // Who has it is about to leave: no code of the program runs meanwhile.
  while (!cs_slot_enter(slot, &sequence))
    sched_yield();
  const bool is_empty = cs_slot_make_room(class, slot);
  if (is_empty) slot->object = NULL;
  cs_slot_leave(slot, sequence + 2);
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
    if (__atomic_load_n(&slot->object, __ATOMIC_RELAXED) != NULL) clear(class, slot);
  }
}

// One look at a place: 1 found, 0 not here, -1 busy.
static int look(cs_slot *slot, const cs_object *object, cs_slot *ret_slot) {
  const uint64_t before = atomic_load_explicit(&slot->sequence, memory_order_acquire);
  if ((before & 1) != 0) return -1;
  if (__atomic_load_n(&slot->object, __ATOMIC_RELAXED) != object) return 0;
  const cs_slot copy = *slot;
  atomic_thread_fence(memory_order_acquire);
  if (atomic_load_explicit(&slot->sequence, memory_order_relaxed) != before) return -1;
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
