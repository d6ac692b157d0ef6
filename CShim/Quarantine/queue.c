// The places of a class: a ring in which the oldest object gives way, and beside it an explorer of a fifth of its size,
// which one object in twenty goes to and where a random one gives way. Threads meet only at atomic counters; one that
// finds a place taken by another goes on to the next and never waits.
#include <malloc.h>
#include <sched.h>
#include <x86intrin.h>

#include "quarantine.h"
#include "ticks_x86_64.h"

#define TRIES           8
#define EXPLORED_ONE_IN 20
#define PLACES_A_PAGE   (4096 / sizeof(cs_slot))
#define FIND_ROUNDS     1000

_Atomic uint64_t cs_queue_bytes;
_Atomic uint64_t cs_queue_budget = 1 << 20;

static inline uint64_t scatter(uint64_t value) {
  value = (value ^ (value >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  value = (value ^ (value >> 27)) * UINT64_C(0x94D049BB133111EB);
  return value ^ (value >> 31);
}

static inline bool has_room(uint64_t bytes) {
  return atomic_load_explicit(&cs_queue_bytes, memory_order_relaxed) + bytes <=
         atomic_load_explicit(&cs_queue_budget, memory_order_relaxed);
}

static inline void charge(uint64_t bytes) {
  atomic_fetch_add_explicit(&cs_queue_bytes, bytes, memory_order_relaxed);
}

// One place more. False: the limit or the budget is reached, or another thread was quicker.
static bool grow(_Atomic uint32_t *used, uint32_t limit, uint64_t bytes, uint32_t *ret_index) {
  uint32_t present = atomic_load_explicit(used, memory_order_relaxed);
  if (present >= limit || !has_room(bytes)) return false;
  if (!atomic_compare_exchange_strong(used, &present, present + 1)) return false;
  *ret_index = present;
  return true;
}

// False: there is no place at all.
static bool choose(cs_class *class, uint64_t ticket, uint64_t bytes, uint32_t *ret_place, bool *ret_is_explorer) {
  const uint32_t limit = atomic_load_explicit(&class->limit, memory_order_relaxed);
  const uint64_t random = scatter(ticket + ((uint64_t)class->index + 1) * UINT64_C(0x9E3779B97F4A7C15));
  uint32_t index = 0;
  const bool explores = limit >= CS_EXPLORER_SHARE && random % EXPLORED_ONE_IN == 0;
  _Atomic uint32_t *const used = explores ? &class->explorer_used : &class->queue_used;
  const uint32_t most = explores ? limit / CS_EXPLORER_SHARE : limit;
  if (!grow(used, most, bytes, &index)) {
    uint32_t present = atomic_load_explicit(used, memory_order_relaxed);
    if (present > most) present = most;
    if (present == 0) return false;
    index = (uint32_t)((explores ? random >> 32 : ticket) % present);
  } else if (index % PLACES_A_PAGE == 0) {
    charge(4096);
  }
  *ret_place = explores ? cs_explorer_place(index) : cs_queue_place(index);
  *ret_is_explorer = explores;
  return true;
}

// acquire: pairs with leave.
static bool enter(cs_slot *slot, uint64_t *ret_sequence) {
  uint64_t sequence = atomic_load_explicit(&slot->sequence, memory_order_relaxed);
  if ((sequence & 1) != 0) return false;
  if (!atomic_compare_exchange_strong(&slot->sequence, &sequence, sequence + 1)) return false;
  *ret_sequence = sequence;
  return true;
}

static void leave(cs_slot *slot, uint64_t sequence) {
  atomic_store_explicit(&slot->sequence, sequence, memory_order_release);
}

// What was in the place goes. False: it cannot go now.
static bool make_room(cs_class *class, const cs_slot *slot) {
  if (slot->object == NULL) return true;
  if (slot->policy == CS_QUARANTINE_ABSORB) return cs_reaper_give(class, slot);
  cs_evict(class, slot);
  return true;
}

static void fill_in(cs_class *class, cs_slot *slot, const cs_arrival *arrival, uint64_t ticket) {
  cs_object *const object = arrival->object;
  const cs_quarantine_policy policy = arrival->policy;
  const uint32_t size = class->metadata->instance_size;
  slot->object = object;
  slot->counts = __atomic_load_n(cs_object_counts(object), __ATOMIC_RELAXED);
  slot->ticks = cs_ticks();
  slot->id = class->index << 21 | (uint32_t)(ticket & 0x1FFFFF);
  slot->thread = cs_thread_number();
  const bool has_stack = atomic_load_explicit(&cs_stacks_are_on, memory_order_relaxed) != 0;
  slot->stack = has_stack ? cs_stack_take(arrival->frame) : 0;
  slot->policy = policy;
  if (policy != CS_QUARANTINE_ABSORB) cs_fields_fill(object, size, policy, slot->id);
  slot->checksum = cs_fields_checksum(object, size);
}

bool cs_queue_put(cs_class *class, const cs_arrival *arrival) {
  cs_object *const object = arrival->object;
  const uint32_t bytes = (uint32_t)malloc_usable_size(object) + 8;
  for (uint32_t tries = 0; tries < TRIES; tries++) {
    const uint64_t ticket = atomic_fetch_add_explicit(&class->ticket, 1, memory_order_relaxed);
    uint32_t place = 0;
    bool is_explorer = false;
    uint64_t sequence = 0;
    if (!choose(class, ticket, bytes, &place, &is_explorer)) {
      atomic_fetch_add_explicit(&class->skipped_budget, 1, memory_order_relaxed);
      return false;
    }
    cs_slot *const slot = &class->slots[place];
    if (!enter(slot, &sequence)) continue;
    if (!make_room(class, slot)) {
      leave(slot, sequence);
      break;
    }
    fill_in(class, slot, arrival, ticket);
    slot->bytes = bytes;
    slot->is_explorer = is_explorer;
    charge(bytes);
    // Before the place is left: then another thread may take it, and give the object back to Swift.
    __atomic_store_n(&object->metadata, class->zombie, __ATOMIC_RELEASE);
    leave(slot, sequence + 2);
    atomic_fetch_add_explicit(&class->admitted, 1, memory_order_relaxed);
    return true;
  }
  atomic_fetch_add_explicit(&class->skipped_busy, 1, memory_order_relaxed);
  return false;
}

static uint32_t places(const cs_class *class) {
  const uint32_t queue = atomic_load(&((cs_class *)(uintptr_t)class)->queue_used);
  const uint32_t explorer = atomic_load(&((cs_class *)(uintptr_t)class)->explorer_used);
  const uint32_t last_queue = queue == 0 ? 0 : cs_queue_place(queue - 1) + 1;
  const uint32_t last_explorer = explorer == 0 ? 0 : cs_explorer_place(explorer - 1) + 1;
  return last_queue > last_explorer ? last_queue : last_explorer;
}

void cs_queue_empty(cs_class *class) {
  const uint32_t count = places(class);
  for (uint32_t place = 0; place < count; place++) {
    cs_slot *const slot = &class->slots[place];
    uint64_t sequence = 0;
    // Who has it is about to leave: no code of the program runs meanwhile.
    while (!enter(slot, &sequence))
      sched_yield();
    bool is_empty = make_room(class, slot);
    while (!is_empty && cs_reaper_wait())
      is_empty = make_room(class, slot);
    if (is_empty) slot->object = NULL;
    leave(slot, sequence + 2);
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
  const uint32_t count = places(class);
  for (uint32_t round = 0; round < FIND_ROUNDS; round++) {
    bool is_busy = false;
    for (uint32_t place = 0; place < count; place++) {
      const int found = look(&class->slots[place], object, ret_slot);
      if (found > 0) return true;
      if (found < 0) is_busy = true;
    }
    if (!is_busy) return false;
    _mm_pause();
  }
  return false;
}
