// What is remembered of objects whose memory has been given back: the last some thousand, in shares so that threads do
// not meet.
#include "ghosts.h"

#include "ticks_x86_64.h"

#define SHARES 8

static cs_ghosts shares[SHARES];

cs_ghosts *cs_ghosts_of(uint32_t thread) {
  return &shares[thread % SHARES];
}

void cs_ghost_put(const cs_slot *slot, const cs_object *object) {
  cs_thread_known();
  cs_ghost_put_inline(slot, object);
}

// False: it is another object's, or changes now.
static bool copy(const cs_ghost *ghost, const void *object, cs_ghost *ret_ghost) {
  if (atomic_load_explicit(&ghost->object, memory_order_acquire) != object) return false;
  const uint64_t ticks = __atomic_load_n(&ghost->ticks, __ATOMIC_RELAXED);
  const uint32_t id = __atomic_load_n(&ghost->id, __ATOMIC_RELAXED);
  atomic_thread_fence(memory_order_acquire);
  ret_ghost->ticks = ticks;
  ret_ghost->id = id;
  ret_ghost->thread = __atomic_load_n(&ghost->thread, __ATOMIC_RELAXED);
  ret_ghost->stack = __atomic_load_n(&ghost->stack, __ATOMIC_RELAXED);
  atomic_thread_fence(memory_order_acquire);
  return __atomic_load_n(&ghost->ticks, __ATOMIC_RELAXED) == ticks &&
         __atomic_load_n(&ghost->id, __ATOMIC_RELAXED) == id &&
         atomic_load_explicit(&ghost->object, memory_order_relaxed) == object;
}

bool cs_ghost_find(const void *object, cs_quarantine_liveness *ret_liveness) {
  cs_ghost found = {0}, candidate;
  bool is_found = false;
  // The youngest: an address has many tenants.
  for (uint32_t share = 0; share < SHARES; share++) {
    for (uint32_t index = 0; index < CS_GHOSTS; index++) {
      if (!copy(&shares[share].ghosts[index], object, &candidate)) continue;
      if (is_found && candidate.ticks <= found.ticks) continue;
      found = candidate;
      is_found = true;
    }
  }
  if (!is_found) return false;
  ret_liveness->state = CS_QUARANTINE_FREED;
  ret_liveness->metadata = cs_classes[found.id >> CS_ID_CLASS_SHIFT]->metadata;
  ret_liveness->id = found.id;
  ret_liveness->age_ns = cs_ticks_ns(cs_ticks() - found.ticks);
  cs_stack_read(found.stack, &ret_liveness->free);
  ret_liveness->free.thread = found.thread;
  return true;
}
