// The thread sweep: stack sampling of all threads after a crash. Each other thread receives SIGPROF and writes its own
// stack to a slot of the ring. SIGPROF is used, because neither Dispatch's worker threads nor the threads of Swift's
// concurrency library block it.
#ifndef CS_SWEEP_H
#define CS_SWEEP_H

#include <stdbool.h>

#include "cs_signal_safe.h"

// The maximum sweep timeout. A thread that crashes during another thread's sweep waits a little longer than the sweep
// timeout.
#define CS_SWEEP_LIMIT_MS   800
#define CS_SWEEP_DEFAULT_MS 100

// Sends SIGPROF to all threads that have not crashed, and waits at most cs_process.sweep_ms for their answers (their
// stacks). Also records the names and states of the threads that did not answer. Returns false if sweeps are disabled,
// or if our SIGPROF handler cannot be installed. In this case, the ring is unchanged. Precondition: cs_sweep_claim()
// returned true.
bool cs_sweep(void) SIGNAL_SAFE;

// Returns whether another thread is sweeping. A crashing thread that needs SIGPROF for the halt waits at most 1 s until
// the sweep ends, because the sweep also uses SIGPROF.
bool cs_sweep_is_under_way(void) SIGNAL_SAFE;

// In a forked child: resets the state that the sweep keeps, so that the child can sweep.
void cs_sweep_forget(void) SIGNAL_SAFE;

#endif
