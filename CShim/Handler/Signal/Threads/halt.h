// What the other threads do while a crash comes to its end: they stop where the end of the process is certain, and go
// on as if there had been no sweep where it is not.
#ifndef CS_HALT_H
#define CS_HALT_H

#include <stdbool.h>
#include <ucontext.h>

#include "cs_signal_safe.h"

// The crash ends the process: threads that our SIGPROF reaches from now on stay. true for the first call.
bool cs_halt_begin(void) SIGNAL_SAFE;
bool cs_halt_has_begun(void) SIGNAL_SAFE;

// Sends SIGPROF to all threads that have not crashed until they stay, a few milliseconds at most. One that was running
// is let go until it has had a turn on a processor: it may be about to crash as well.
// false: it cannot see them. Precondition: cs_halt_begin(), and no sweep is under way.
bool cs_halt_all(void) SIGNAL_SAFE;

// The end of our SIGPROF handler on a thread that was interrupted at `context`. Does not return where the process ends.
void cs_halt_here(const ucontext_t *context) SIGNAL_SAFE;

// For the thread whose crash ends the process, `context` is what it returns to: a profiler's SIGPROF, or ours of a
// moment ago, must not have it stay before the crash happens again.
void cs_halt_exempt(ucontext_t *context) SIGNAL_SAFE;

// In a forked child: its parent's crash is not its own.
void cs_halt_forget(void) SIGNAL_SAFE;

#endif
