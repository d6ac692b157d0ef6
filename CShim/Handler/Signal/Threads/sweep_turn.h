// What a thread needs for a sweep (sweep.h): the turn, which is the right to sweep and which only one of several
// crashing threads gets, and the SIGPROF handler.
#ifndef CS_SWEEP_TURN_H
#define CS_SWEEP_TURN_H

#include <stdbool.h>
#include <ucontext.h>

#include "cs_signal_safe.h"

// Claims the turn, which is the right to sweep in this crash. Returns true for the first thread of a crash that calls
// this function, and false for all others. That thread calls cs_sweep_release() after its sweep.
bool cs_sweep_claim(void) SIGNAL_SAFE;
void cs_sweep_release(void) SIGNAL_SAFE;

// Returns whether a sweep has begun in this process at any time.
bool cs_sweep_has_begun(void) SIGNAL_SAFE;

// Renews the turn if the program survived the previous crash, so that the new crash gets its own sweep. Precondition:
// the caller has entered the crash handler while no other thread was in it. The ring's data about the other threads is
// then obsolete and is cleared. `context` is the context that the kernel passed to the handler.
void cs_sweep_renew(const ucontext_t *context) SIGNAL_SAFE;

// For a thread that did not crash: returns whether the program has continued after the last crash.
bool cs_sweep_is_survived(void) SIGNAL_SAFE;

// A crashing thread calls this function before it re-raises its signal and leaves the handler. `is_end` is true if the
// signal certainly ends the process.
void cs_sweep_leave(int signal, bool is_end) SIGNAL_SAFE;

// In a forked child: resets the state of the turn.
void cs_sweep_forget_turn(void) SIGNAL_SAFE;

// Installs our SIGPROF handler. Returns false if the handler cannot be installed.
bool cs_sweep_take_signal(void) SIGNAL_SAFE;
bool cs_sweep_has_signal(void) SIGNAL_SAFE;

// Restores the SIGPROF action that the program had installed. Has no effect if our handler is not installed.
void cs_sweep_give_signal_back(void) SIGNAL_SAFE;

#endif
