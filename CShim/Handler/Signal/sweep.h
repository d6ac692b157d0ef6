// After a crash: where the other threads are. Each is asked by SIGPROF, the one signal that neither Dispatch's workers
// nor the threads of Swift's concurrency block, and writes its own stack into a place of the ring.
#ifndef CS_SWEEP_H
#define CS_SWEEP_H

#include <signal.h>
#include <stdbool.h>

#include "cs_signal_safe.h"

// The longest a sweep may be told to take: threads that crashed meanwhile wait a little longer than this.
#define CS_SWEEP_LIMIT_MS   800
#define CS_SWEEP_DEFAULT_MS 100

// Asks all threads that have not crashed, waits until they have answered, at most cs_process.sweep_ms, and notes those
// that have not. Once a process; false: not done, there is nothing new in the ring.
bool cs_sweep(void) SIGNAL_SAFE;

// Whether it met a thread that did not wait for anything, and may be about to crash as well.
bool cs_sweep_found_running(void) SIGNAL_SAFE;

// The handler of SIGPROF while a sweep is under way.
void cs_sweep_answer(int signal, siginfo_t *information, void *context) SIGNAL_SAFE;

// Whether the thread is writing its answer: then a fault of it is ours.
bool cs_sweep_is_answering(int tid) SIGNAL_SAFE;

// In a forked child: it may have a sweep of its own.
void cs_sweep_forget(void) SIGNAL_SAFE;

#endif
