// The thread sweep: stack sampling of all threads after a crash. Each thread gets SIGPROF and writes its own stack to a
// slot of the ring. SIGPROF is the one signal that neither Dispatch's workers nor the threads of Swift's concurrency
// block.
#ifndef CS_SWEEP_H
#define CS_SWEEP_H

#include <stdbool.h>

#include "cs_signal_safe.h"

// The maximum sweep timeout. Threads that crash during a sweep wait a little longer than this.
#define CS_SWEEP_LIMIT_MS   800
#define CS_SWEEP_DEFAULT_MS 100

// Signals all threads that have not crashed, and waits at most cs_process.sweep_ms for their answers. Records the
// threads that did not answer. Returns false if it did nothing; the ring is then unchanged. Precondition:
// cs_sweep_claim().
bool cs_sweep(void) SIGNAL_SAFE;

// Returns whether another thread is sweeping. A crash without the turn waits for the end of the sweep, because the
// sweep uses SIGPROF.
bool cs_sweep_is_under_way(void) SIGNAL_SAFE;

// Resets the state in a forked child, which may then sweep itself.
void cs_sweep_forget(void) SIGNAL_SAFE;

#endif
