// How a ghost is put: in the way of each eviction, so it is inlined.
#ifndef CS_QUARANTINE_GHOSTS_H
#define CS_QUARANTINE_GHOSTS_H

#include <string.h>

#include "quarantine.h"

#define CS_GHOSTS 512 // of one share, a power of two

// As the first half of the record that it was. Who swaps CS_SLOT_BUSY for `object` writes it, as with a place.
typedef struct cs_ghost {
  const cs_object *_Atomic object;
  uint64_t ticks;
  uint32_t id;
  uint32_t bytes;
  uint32_t thread;
  uint32_t stack;
} cs_ghost;

struct cs_ghosts {
  _Alignas(64) _Atomic uint64_t next;
  _Alignas(64) cs_ghost ghosts[CS_GHOSTS];
};

// By a thread that is known.
static inline void cs_ghost_put_inline(const cs_slot *slot, const cs_object *object) {
  cs_ghosts *const share = cs_this_thread.ghosts;
  cs_ghost *const ghost = &share->ghosts[atomic_fetch_add_explicit(&share->next, 1, memory_order_relaxed) % CS_GHOSTS];
  // A whole round behind another thread of the same share: its ghost is the younger one.
  if (!__builtin_expect(atomic_exchange(&ghost->object, (const cs_object *)CS_SLOT_BUSY) != CS_SLOT_BUSY, true)) return;
  ghost->ticks = slot->ticks;
  atomic_signal_fence(memory_order_seq_cst);
  memcpy(&ghost->id, &slot->id, sizeof *ghost - offsetof(cs_ghost, id));
  atomic_store_explicit(&ghost->object, object, memory_order_release);
}

_Static_assert(offsetof(cs_ghost, id) == offsetof(cs_slot, id) && sizeof(cs_ghost) == offsetof(cs_slot, contents),
               "the same words");

#endif
