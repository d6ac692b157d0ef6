// The places of the ring that the threads which did not crash write, one each.
#ifndef CS_SWEEP_PLACE_H
#define CS_SWEEP_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "../Dispatch/state.h"
#include "cs_ring.h"
#include "cs_ring_access.h"

// The state of a place in the sweep of this crash. A thread that was too late for the sweep of an earlier one must not
// take a place of this.
static inline uint64_t cs_sweep_state(uint64_t state) SIGNAL_SAFE {
  // acquire: pairs with the release store of cs_sweep_renew().
  return (uint64_t)__atomic_load_n(&cs_process.ring->header.survived, __ATOMIC_ACQUIRE) << 2 | state;
}

// One of the thread and the sweep writes the record.
static inline bool cs_sweep_begin_to_write(cs_ring_thread *thread, uint64_t asked) SIGNAL_SAFE {
  const uint64_t writing = (asked & ~(uint64_t)CS_RING_STATE_MASK) | CS_RING_STATE_WRITING;
  // acquire: pairs with the release store of ask().
  return __atomic_compare_exchange_n(&thread->state, &asked, writing, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static inline void cs_sweep_commit(cs_ring_thread *thread) SIGNAL_SAFE {
  const uint64_t writing = __atomic_load_n(&thread->state, __ATOMIC_RELAXED);
  const uint64_t committed = (writing & ~(uint64_t)CS_RING_STATE_MASK) | CS_RING_STATE_COMMITTED;
  thread->crc = cs_ring_crc32c(0, &thread->record, sizeof thread->record);
  // release: pairs with cs_ring_thread_state_acquire() of the reader.
  __atomic_store_n(&thread->state, committed, __ATOMIC_RELEASE);
}

#endif
