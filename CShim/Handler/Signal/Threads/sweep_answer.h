// The answer of a thread that did not crash to a sweep, and the ring slots of these answers, one for each thread.
#ifndef CS_SWEEP_ANSWER_H
#define CS_SWEEP_ANSWER_H

#include <signal.h>
#include <stdbool.h>

#include "../Dispatch/state.h"
#include "cs_ring_access.h"

// The handler of SIGPROF while a sweep is under way.
void cs_sweep_answer(int signal, siginfo_t *information, void *context) SIGNAL_SAFE;

// Whether the thread is writing its answer: its faults are then ours.
bool cs_sweep_is_answering(int tid) SIGNAL_SAFE;

// Counts a thread that was not waiting.
void cs_sweep_note_running(void) SIGNAL_SAFE;
void cs_sweep_forget_running(void) SIGNAL_SAFE;

// Whether a sweep found a running thread, which may be about to crash as well, or may have missed one.
bool cs_sweep_found_running(void) SIGNAL_SAFE;

// In a forked child: resets the state.
void cs_sweep_forget_answers(void) SIGNAL_SAFE;

// The state of a slot in the sweep of this crash. A thread that was too late for an earlier sweep must not take a slot
// of this one.
static inline uint64_t cs_sweep_state(uint64_t state) SIGNAL_SAFE {
  // acquire: pairs with the release store of cs_sweep_renew().
  return (uint64_t)__atomic_load_n(&cs_process.ring->header.survived, __ATOMIC_ACQUIRE) << 2 | state;
}

// Elects the thread or the sweep to write the record.
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
