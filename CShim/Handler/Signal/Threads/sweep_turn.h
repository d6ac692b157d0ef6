// The resources of a sweep: the turn, which only one of several crashing threads gets, and the signal SIGPROF.
#ifndef CS_SWEEP_TURN_H
#define CS_SWEEP_TURN_H

#include <stdbool.h>
#include <ucontext.h>

#include "cs_signal_safe.h"

// Claims the turn. Returns true for the first thread of a crash that calls this function. That thread releases the turn
// after its sweep.
bool cs_sweep_claim(void) SIGNAL_SAFE;
void cs_sweep_release(void) SIGNAL_SAFE;

// Returns whether a sweep has begun in this process at any time.
bool cs_sweep_has_begun(void) SIGNAL_SAFE;

// Renews the turn, if a thread crashes while no other thread is in the handler and the program survived the previous
// crash. In this case, the ring's data about the other threads is obsolete, and the new crash gets its own sweep.
// `context` is the context that the kernel passed to the handler.
void cs_sweep_renew(const ucontext_t *context) SIGNAL_SAFE;

// For a thread that did not crash: returns whether the program continues after the last crash.
bool cs_sweep_is_survived(void) SIGNAL_SAFE;

// Called before a thread re-raises its signal and leaves the handler. `is_end` is true if the signal certainly ends the
// process.
void cs_sweep_leave(int signal, bool is_end) SIGNAL_SAFE;

// In a forked child: resets the state.
void cs_sweep_forget_turn(void) SIGNAL_SAFE;

// Installs our SIGPROF handler. Returns false if that fails.
bool cs_sweep_take_signal(void) SIGNAL_SAFE;
bool cs_sweep_has_signal(void) SIGNAL_SAFE;

// Restores the program's SIGPROF action. Further calls have no effect.
void cs_sweep_give_signal_back(void) SIGNAL_SAFE;

#endif
