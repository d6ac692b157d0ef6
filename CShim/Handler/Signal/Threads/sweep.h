// The thread sweep: stack sampling of all threads after a crash. Each thread gets SIGPROF, the one signal that neither
// Dispatch's workers nor the threads of Swift's concurrency block, and writes its own stack to a slot of the ring.
#ifndef CS_SWEEP_H
#define CS_SWEEP_H

#include <stdbool.h>

#include "cs_signal_safe.h"

// The maximum sweep timeout: threads that crashed meanwhile wait a little longer than this.
#define CS_SWEEP_LIMIT_MS   800
#define CS_SWEEP_DEFAULT_MS 100

// Signals all threads that have not crashed, waits for their answers, at most cs_process.sweep_ms, and records those
// that did not answer. Returns false if it did nothing, and the ring is unchanged. Precondition: cs_sweep_claim().
bool cs_sweep(void) SIGNAL_SAFE;

// Whether another thread is sweeping. A crash without the turn waits for its end, because the sweep uses SIGPROF.
bool cs_sweep_is_under_way(void) SIGNAL_SAFE;

// In a forked child: allows a sweep of its own.
void cs_sweep_forget(void) SIGNAL_SAFE;

#endif
