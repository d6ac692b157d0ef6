// After a crash: where the other threads are. Each is asked by SIGPROF, the one signal that neither Dispatch's workers
// nor the threads of Swift's concurrency block, and writes its own stack into a place of the ring.
#ifndef CS_SWEEP_H
#define CS_SWEEP_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "cs_signal_safe.h"

// The longest a sweep may be told to take: threads that crashed meanwhile wait a little longer than this.
#define CS_SWEEP_LIMIT_MS   800
#define CS_SWEEP_DEFAULT_MS 100

// Of the threads that crash together one looks at the others: true for the first that asks. It says when it is done.
bool cs_sweep_claim(void) SIGNAL_SAFE;
void cs_sweep_release(void) SIGNAL_SAFE;

// Asks all threads that have not crashed, waits until they have answered, at most cs_process.sweep_ms, and notes those
// that have not. false: not done, there is nothing new in the ring.
// Precondition: cs_sweep_claim().
bool cs_sweep(void) SIGNAL_SAFE;

// Whether one is under way, on another thread. A crash that has not the turn waits for its end, for it has SIGPROF.
bool cs_sweep_is_under_way(void) SIGNAL_SAFE;

// Makes SIGPROF ours, and the program's again. false: refused.
bool cs_sweep_take_signal(void) SIGNAL_SAFE;
void cs_sweep_give_signal_back(void) SIGNAL_SAFE;
bool cs_sweep_has_signal(void) SIGNAL_SAFE;

// Whether it met a thread that did not wait for anything, and may be about to crash as well, or may have overlooked
// one.
bool cs_sweep_found_running(void) SIGNAL_SAFE;

// A thread crashes while no other is in the handler. If the program has survived the crash before, what the ring says
// of the other threads is of then, and the next sweep is this crash's. `context` is the kernel's.
void cs_sweep_renew(const ucontext_t *context) SIGNAL_SAFE;

// Whether the crash before is over, and the program goes on: for a thread that did not crash.
bool cs_sweep_is_survived(void) SIGNAL_SAFE;

// The thread is about to leave the handler, and the signal to happen again; `is_end`: that ends the process.
void cs_sweep_leave(int signal, bool is_end) SIGNAL_SAFE;

// The handler of SIGPROF while a sweep is under way.
void cs_sweep_answer(int signal, siginfo_t *information, void *context) SIGNAL_SAFE;

// Whether the thread is writing its answer: then a fault of it is ours.
bool cs_sweep_is_answering(int tid) SIGNAL_SAFE;

// In a forked child: it may have a sweep of its own.
void cs_sweep_forget(void) SIGNAL_SAFE;

#endif
