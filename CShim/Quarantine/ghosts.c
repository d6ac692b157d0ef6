// What is remembered of objects whose memory has been given back: the last some thousand.
#include "quarantine.h"
#include "ticks_x86_64.h"

#define GHOSTS 4096 // a power of two

typedef struct ghost {
  _Atomic uint64_t sequence; // odd: being written
  const void *object;
  uint64_t ticks;
  uint32_t id;
  uint32_t thread;
  uint32_t stack;
} ghost;

static ghost ghosts[GHOSTS];
static _Atomic uint64_t next;

void cs_ghost_put(const cs_slot *slot) {
  ghost *const ghost = &ghosts[atomic_fetch_add_explicit(&next, 1, memory_order_relaxed) % GHOSTS];
  uint64_t sequence = atomic_load_explicit(&ghost->sequence, memory_order_relaxed);
  // A whole round behind another thread: its own ghost is the younger one.
  if ((sequence & 1) != 0 || !atomic_compare_exchange_strong(&ghost->sequence, &sequence, sequence + 1)) return;
  ghost->object = slot->object;
  ghost->ticks = slot->ticks;
  ghost->id = slot->id;
  ghost->stack = slot->stack;
  ghost->thread = slot->thread;
  atomic_store_explicit(&ghost->sequence, sequence + 2, memory_order_release);
}

bool cs_ghost_find(const void *object, cs_quarantine_liveness *ret_liveness) {
  const uint64_t last = atomic_load(&next), count = last < GHOSTS ? last : GHOSTS;
  // The youngest first: an address has many tenants.
  for (uint64_t back = 1; back <= count; back++) {
    const ghost *const ghost = &ghosts[(last - back) % GHOSTS];
    const uint64_t before = atomic_load_explicit(&ghost->sequence, memory_order_acquire);
    if ((before & 1) != 0 || __atomic_load_n(&ghost->object, __ATOMIC_RELAXED) != object) continue;
    const uint32_t id = ghost->id, stack = ghost->stack, thread = ghost->thread;
    const uint64_t ticks = ghost->ticks;
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load_explicit(&ghost->sequence, memory_order_relaxed) != before) continue;
    ret_liveness->state = CS_QUARANTINE_FREED;
    ret_liveness->metadata = cs_classes[id >> CS_ID_CLASS_SHIFT]->metadata;
    ret_liveness->id = id;
    ret_liveness->age_ns = cs_ticks_ns(cs_ticks() - ticks);
    cs_stack_read(stack, &ret_liveness->free);
    ret_liveness->free.thread = thread;
    return true;
  }
  return false;
}
