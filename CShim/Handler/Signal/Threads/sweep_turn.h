// The resources of a sweep: the turn among threads that crash together, and SIGPROF.
#ifndef CS_SWEEP_TURN_H
#define CS_SWEEP_TURN_H

#include <stdbool.h>
#include <ucontext.h>

#include "cs_signal_safe.h"

// Claims the turn: true for the first thread of a crash that calls it. It releases the turn when it is done.
bool cs_sweep_claim(void) SIGNAL_SAFE;
void cs_sweep_release(void) SIGNAL_SAFE;

// Whether this process has swept, ever.
bool cs_sweep_has_begun(void) SIGNAL_SAFE;

// Renews the turn when a thread crashes while no other is in the handler. If the program survived the crash before, the
// ring's data of the other threads is stale, and the next sweep belongs to this crash. `context` is the kernel's.
void cs_sweep_renew(const ucontext_t *context) SIGNAL_SAFE;

// For a thread that did not crash: whether the crash before is over and the program continues.
bool cs_sweep_is_survived(void) SIGNAL_SAFE;

// For a thread that is about to leave the handler and re-raise the signal; `is_end`: that ends the process.
void cs_sweep_leave(int signal, bool is_end) SIGNAL_SAFE;

// In a forked child: resets the state.
void cs_sweep_forget_turn(void) SIGNAL_SAFE;

// Installs our SIGPROF handler. Returns false if that fails.
bool cs_sweep_take_signal(void) SIGNAL_SAFE;
bool cs_sweep_has_signal(void) SIGNAL_SAFE;

// Restores the program's action. Idempotent.
void cs_sweep_give_signal_back(void) SIGNAL_SAFE;

#endif
