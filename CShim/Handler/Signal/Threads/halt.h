// Halts the other threads while a crash ends the process: they sleep in our SIGPROF handler. If the process can survive
// the signal, the other threads are not halted, and continue after the sweep (sweep.h).
#ifndef CS_HALT_H
#define CS_HALT_H

#include <stdbool.h>
#include <ucontext.h>

#include "cs_signal_safe.h"

// Begins the halt. Precondition: the caller's crash certainly ends the process. After this call, each thread that
// receives our SIGPROF stays in the SIGPROF handler until the process ends. Returns true only for the first call.
bool cs_halt_begin(void) SIGNAL_SAFE;
bool cs_halt_has_begun(void) SIGNAL_SAFE;

// Sends SIGPROF to all threads that have not crashed, until they stay in the SIGPROF handler. The call takes a few
// milliseconds, and about 100 ms at most. A thread that was running can be about to crash for the same reason, so it
// first continues for a short processor time (halt_turn.h). Returns false if the threads cannot be listed.
// Precondition: cs_halt_begin() was called, and no sweep is running.
bool cs_halt_all(void) SIGNAL_SAFE;

// Our SIGPROF handler calls this function at its end. `context` is the interrupted context of the thread. If the crash
// ends the process, the function does not return.
void cs_halt_here(const ucontext_t *context) SIGNAL_SAFE;

// Blocks SIGPROF in `context`, to which a crashing thread returns when it re-raises its signal and ends the process.
// Otherwise, a SIGPROF of a profiler or of the shield could halt this thread first.
void cs_halt_exempt(ucontext_t *context) SIGNAL_SAFE;

// In a forked child: clears the state of the parent's halt.
void cs_halt_forget(void) SIGNAL_SAFE;

#endif
