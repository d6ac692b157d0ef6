// What is remembered of objects whose memory has been given back. A place keeps the ghost of its last tenant but one,
// so each class has as many as places; here are those that had left their place before their deinit ran, under absorb.
#include <string.h>

#include "quarantine.h"
#include "ticks_x86_64.h"

#define GHOSTS 1024 // a power of two

// As the first half of the record that it was. Who swaps CS_SLOT_BUSY for `object` writes it, as with a place.
typedef struct ghost {
  const cs_object *_Atomic object;
  uint64_t ticks;
  uint32_t tag;
  uint32_t key;
  uint32_t thread;
  uint32_t stack;
} ghost;

_Static_assert(offsetof(ghost, tag) == offsetof(cs_slot, tag) && sizeof(ghost) == offsetof(cs_slot, past),
               "the same words");

static ghost ghosts[GHOSTS];
static _Atomic uint64_t next;

void cs_ghost_put(const cs_slot *slot, const cs_object *object) {
  ghost *const ghost = &ghosts[atomic_fetch_add_explicit(&next, 1, memory_order_relaxed) % GHOSTS];
  // A whole round behind another thread: its ghost is the younger one.
  if (atomic_exchange(&ghost->object, (const cs_object *)CS_SLOT_BUSY) == CS_SLOT_BUSY) return;
  ghost->ticks = slot->ticks;
  atomic_signal_fence(memory_order_seq_cst);
  memcpy(&ghost->tag, &slot->tag, sizeof *ghost - offsetof(struct ghost, tag));
  atomic_store_explicit(&ghost->object, object, memory_order_release);
}

// False: it is another object's, or changes now.
static bool copy(const ghost *ghost, const void *object, cs_slot *ret_slot) {
  if (atomic_load_explicit(&ghost->object, memory_order_acquire) != object) return false;
  const uint64_t ticks = __atomic_load_n(&ghost->ticks, __ATOMIC_RELAXED);
  const uint32_t tag = __atomic_load_n(&ghost->tag, __ATOMIC_RELAXED);
  atomic_thread_fence(memory_order_acquire);
  ret_slot->ticks = ticks;
  ret_slot->tag = tag;
  ret_slot->thread = __atomic_load_n(&ghost->thread, __ATOMIC_RELAXED);
  ret_slot->stack = __atomic_load_n(&ghost->stack, __ATOMIC_RELAXED);
  atomic_thread_fence(memory_order_acquire);
  return __atomic_load_n(&ghost->ticks, __ATOMIC_RELAXED) == ticks &&
         __atomic_load_n(&ghost->tag, __ATOMIC_RELAXED) == tag &&
         atomic_load_explicit(&ghost->object, memory_order_relaxed) == object;
}

bool cs_ghost_find(const void *object, cs_quarantine_liveness *ret_liveness) {
  cs_slot found = {0}, candidate;
  bool is_found = false;
  // The youngest: an address has many tenants.
  for (uint32_t index = 0; index < cs_class_count(); index++) {
    if (!cs_queue_find_past(cs_classes[index], object, &candidate)) continue;
    if (is_found && candidate.ticks <= found.ticks) continue;
    found = candidate;
    is_found = true;
  }
  for (uint32_t index = 0; index < GHOSTS; index++) {
    if (!copy(&ghosts[index], object, &candidate)) continue;
    if (is_found && candidate.ticks <= found.ticks) continue;
    found = candidate;
    is_found = true;
  }
  if (!is_found) return false;
  ret_liveness->state = CS_QUARANTINE_FREED;
  ret_liveness->metadata = cs_classes[cs_tag_class(found.tag)]->metadata;
  ret_liveness->id = cs_tag_number(found.tag);
  ret_liveness->age_ns = cs_ticks_ns(cs_ticks() - found.ticks);
  cs_stack_read(found.stack, &ret_liveness->free);
  ret_liveness->free.thread = found.thread;
  return true;
}
