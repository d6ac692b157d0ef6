// Halts the other threads while a crash ends the process. If the process may survive the signal, the other threads
// continue after the sweep.
#ifndef CS_HALT_H
#define CS_HALT_H

#include <stdbool.h>
#include <ucontext.h>

#include "cs_signal_safe.h"

// Begins the halt, because the crash certainly ends the process. After this call, each thread that our SIGPROF reaches
// stays in the SIGPROF handler. Returns true only for the first call.
bool cs_halt_begin(void) SIGNAL_SAFE;
bool cs_halt_has_begun(void) SIGNAL_SAFE;

// Sends SIGPROF to all threads that have not crashed, until they stay. This takes a few milliseconds at most. A thread
// that was running first continues for a short processor time, because it may be about to crash for the same reason.
// Returns false if the threads cannot be listed. Precondition: cs_halt_begin() was called, and no sweep is running.
bool cs_halt_all(void) SIGNAL_SAFE;

// Called at the end of our SIGPROF handler. `context` is the interrupted context of the thread. Does not return if the
// crash ends the process.
void cs_halt_here(const ucontext_t *context) SIGNAL_SAFE;

// Blocks SIGPROF in `context`, for the thread whose crash ends the process and which returns to this context.
// Otherwise, a SIGPROF of a profiler or of the shield could halt the thread before it re-raises its signal.
void cs_halt_exempt(ucontext_t *context) SIGNAL_SAFE;

// In a forked child: clears the state of the parent's halt.
void cs_halt_forget(void) SIGNAL_SAFE;

#endif
