// Halts the other threads while a crash ends the process. If the process may survive, they continue as without a sweep.
#ifndef CS_HALT_H
#define CS_HALT_H

#include <stdbool.h>
#include <ucontext.h>

#include "cs_signal_safe.h"

// Begins the halt, because the crash ends the process. Threads that our SIGPROF reaches from now on stay in the
// handler. Returns true for the first call.
bool cs_halt_begin(void) SIGNAL_SAFE;
bool cs_halt_has_begun(void) SIGNAL_SAFE;

// Sends SIGPROF to all threads that have not crashed until they stay, for a few milliseconds at most. A running thread
// may continue for a short processor time, because it may be about to crash too. Returns false if the threads cannot be
// listed. Precondition: cs_halt_begin(), and no sweep is under way.
bool cs_halt_all(void) SIGNAL_SAFE;

// Called at the end of our SIGPROF handler on a thread interrupted at `context`. Does not return if the process ends.
void cs_halt_here(const ucontext_t *context) SIGNAL_SAFE;

// Exempts the thread whose crash ends the process and which returns to `context`. A profiler's SIGPROF, or an earlier
// SIGPROF of the shield, must not halt it before it re-raises the signal.
void cs_halt_exempt(ucontext_t *context) SIGNAL_SAFE;

// Clears the parent's halt in a forked child.
void cs_halt_forget(void) SIGNAL_SAFE;

#endif
