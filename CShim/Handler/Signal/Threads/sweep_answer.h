// The answer of a thread to a sweep (sweep.h): its own stack, which it writes to its own slot of the ring.
#ifndef CS_SWEEP_ANSWER_H
#define CS_SWEEP_ANSWER_H

#include <signal.h>
#include <stdbool.h>

#include "../Dispatch/state.h"
#include "cs_ring_access.h"

// The handler that a sweep installs for SIGPROF.
void cs_sweep_answer(int signal, siginfo_t *information, void *context) SIGNAL_SAFE;

// Returns whether the thread is writing its answer. A fault of this thread is then a fault of the shield's code.
bool cs_sweep_is_answering(int tid) SIGNAL_SAFE;

// Counts a thread that was running when the sweep's signal reached it.
void cs_sweep_note_running(void) SIGNAL_SAFE;
void cs_sweep_forget_running(void) SIGNAL_SAFE;

// Returns whether a sweep found a running thread, or can have missed one. A running thread can be about to crash for
// the same reason as the crashing thread.
bool cs_sweep_found_running(void) SIGNAL_SAFE;

// In a forked child: resets the state of this file's functions.
void cs_sweep_forget_answers(void) SIGNAL_SAFE;

// Returns a state of a slot for the sweep of the current crash: it includes the number of the crash. A thread that
// answers an earlier sweep late has an older number, and can therefore not claim a slot of this sweep.
static inline uint64_t cs_sweep_state(uint64_t state) SIGNAL_SAFE {
  // acquire: pairs with the release store in cs_sweep_renew().
  return (uint64_t)__atomic_load_n(&cs_process.ring->header.survived, __ATOMIC_ACQUIRE) << 2 | state;
}

// Claims a slot for writing. The first of two threads gets it: the signaled thread, or the sweeping thread in its
// place.
static inline bool cs_sweep_begin_to_write(cs_ring_thread *thread, uint64_t asked) SIGNAL_SAFE {
  const uint64_t writing = (asked & ~(uint64_t)CS_RING_STATE_MASK) | CS_RING_STATE_WRITING;
  // acquire: pairs with the release store in ask().
  return __atomic_compare_exchange_n(&thread->state, &asked, writing, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static inline void cs_sweep_commit(cs_ring_thread *thread) SIGNAL_SAFE {
  const uint64_t writing = __atomic_load_n(&thread->state, __ATOMIC_RELAXED);
  const uint64_t committed = (writing & ~(uint64_t)CS_RING_STATE_MASK) | CS_RING_STATE_COMMITTED;
  thread->crc = cs_ring_crc32c(0, &thread->record, sizeof thread->record);
  // release: pairs with cs_ring_thread_state_acquire() in the reader.
  __atomic_store_n(&thread->state, committed, __ATOMIC_RELEASE);
}

#endif
