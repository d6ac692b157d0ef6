// Halts the other threads while a crash ends the process; if the process may survive, they continue as without a sweep.
#ifndef CS_HALT_H
#define CS_HALT_H

#include <stdbool.h>
#include <ucontext.h>

#include "cs_signal_safe.h"

// Begins the halt, because the crash ends the process: threads that our SIGPROF reaches from now on stay. Returns true
// for the first call.
bool cs_halt_begin(void) SIGNAL_SAFE;
bool cs_halt_has_begun(void) SIGNAL_SAFE;

// Sends SIGPROF to all threads that have not crashed until they stay, for a few milliseconds at most. A thread that was
// running may continue until it has had a turn on a processor: it may be about to crash as well. Returns false if it
// cannot list them. Precondition: cs_halt_begin(), and no sweep is under way.
bool cs_halt_all(void) SIGNAL_SAFE;

// The end of our SIGPROF handler on a thread interrupted at `context`. Does not return if the process ends.
void cs_halt_here(const ucontext_t *context) SIGNAL_SAFE;

// Exempts the thread whose crash ends the process, which returns to `context`: a profiler's SIGPROF, or an earlier one
// of ours, must not halt it before it re-raises the signal.
void cs_halt_exempt(ucontext_t *context) SIGNAL_SAFE;

// In a forked child: forgets the parent's halt.
void cs_halt_forget(void) SIGNAL_SAFE;

#endif
