// The thread sweep: stack sampling of all threads after a crash. Each other thread receives SIGPROF and writes its own
// stack to a slot of the ring. SIGPROF is used because neither Dispatch's worker threads nor the threads of Swift's
// concurrency block it.
#ifndef CS_SWEEP_H
#define CS_SWEEP_H

#include <stdbool.h>

#include "cs_signal_safe.h"

// The maximum sweep timeout. A thread that crashes during a sweep waits a little longer than this.
#define CS_SWEEP_LIMIT_MS   800
#define CS_SWEEP_DEFAULT_MS 100

// Sends SIGPROF to all threads that have not crashed, and waits at most cs_process.sweep_ms for their answers. Also
// records the threads that did not answer. Returns false if it did nothing. The ring is then unchanged. Precondition:
// cs_sweep_claim() returned true.
bool cs_sweep(void) SIGNAL_SAFE;

// Returns whether another thread is sweeping. A crashing thread that may not sweep waits until the sweep ends, because
// the sweep uses SIGPROF.
bool cs_sweep_is_under_way(void) SIGNAL_SAFE;

// In a forked child: resets the state, so that the child can sweep.
void cs_sweep_forget(void) SIGNAL_SAFE;

#endif
