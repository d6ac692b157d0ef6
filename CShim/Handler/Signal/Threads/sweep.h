// The thread sweep: stack sampling of all threads after a crash. Each other thread receives SIGPROF and answers: it
// writes its own stack to a slot of the ring. SIGPROF is used, because neither Dispatch's worker threads nor the
// threads of Swift's concurrency library block it.
#ifndef CS_SWEEP_H
#define CS_SWEEP_H

#include <stdbool.h>

#include "cs_signal_safe.h"

// The maximum sweep timeout. It is limited, because a thread that crashes during another thread's sweep waits a little
// longer than this timeout.
#define CS_SWEEP_LIMIT_MS   800
#define CS_SWEEP_DEFAULT_MS 100

// Sends SIGPROF to all threads that have not crashed, and waits at most cs_process.sweep_ms for their answers (their
// stacks). Also records the names and states of the threads that did not answer. Returns false, and leaves the ring
// unchanged, if sweeps are disabled or if our SIGPROF handler cannot be installed. Precondition: cs_sweep_claim()
// returned true.
bool cs_sweep(void) SIGNAL_SAFE;

// Returns whether a sweep is running. A crashing thread that wants to halt the other threads waits for its end, at most
// 1 s, because sweep and halt both use SIGPROF.
bool cs_sweep_is_under_way(void) SIGNAL_SAFE;

// In a forked child: resets the state that the sweep keeps, so that the child can sweep.
void cs_sweep_forget(void) SIGNAL_SAFE;

#endif
