// After a crash: stack sampling of all threads. Each is asked by SIGPROF, the one signal that neither Dispatch's
// workers nor the threads of Swift's concurrency block, and writes its own stack into a place of the ring.
#ifndef CS_SWEEP_H
#define CS_SWEEP_H

#include <stdbool.h>

#include "cs_signal_safe.h"

// The longest a sweep may be set to take: threads that crashed meanwhile wait a little longer than this.
#define CS_SWEEP_LIMIT_MS   800
#define CS_SWEEP_DEFAULT_MS 100

// Asks all threads that have not crashed, waits until they have answered, at most cs_process.sweep_ms, and notes those
// that have not. false: not done, there is nothing new in the ring.
// Precondition: cs_sweep_claim().
bool cs_sweep(void) SIGNAL_SAFE;

// Whether a sweep is under way on another thread. A crash without the turn waits for its end, as the sweep has SIGPROF.
bool cs_sweep_is_under_way(void) SIGNAL_SAFE;

// In a forked child: it may have a sweep of its own.
void cs_sweep_forget(void) SIGNAL_SAFE;

#endif
