// What a sweep has to itself: the turn among the threads that crash together, and SIGPROF.
#ifndef CS_SWEEP_TURN_H
#define CS_SWEEP_TURN_H

#include <stdbool.h>
#include <ucontext.h>

#include "cs_signal_safe.h"

// true for the first thread of a crash that asks. It releases the turn when it is done.
bool cs_sweep_claim(void) SIGNAL_SAFE;
void cs_sweep_release(void) SIGNAL_SAFE;

// Whether this process has swept, ever.
bool cs_sweep_has_begun(void) SIGNAL_SAFE;

// A thread crashes while no other is in the handler. If the program has survived the crash before, what the ring says
// of the other threads is of then, and the next sweep is this crash's. `context` is the kernel's.
void cs_sweep_renew(const ucontext_t *context) SIGNAL_SAFE;

// Whether the crash before is over, and the program goes on: for a thread that did not crash.
bool cs_sweep_is_survived(void) SIGNAL_SAFE;

// The thread is about to leave the handler, and the signal to happen again; `is_end`: that ends the process.
void cs_sweep_leave(int signal, bool is_end) SIGNAL_SAFE;

// In a forked child.
void cs_sweep_forget_turn(void) SIGNAL_SAFE;

// Makes SIGPROF ours. false: refused.
bool cs_sweep_take_signal(void) SIGNAL_SAFE;
bool cs_sweep_has_signal(void) SIGNAL_SAFE;

// Puts the program's action back. Idempotent.
void cs_sweep_give_signal_back(void) SIGNAL_SAFE;

#endif
