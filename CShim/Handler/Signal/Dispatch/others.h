// Coordinates a crashing thread with the other threads. The crashing thread samples the stacks of the other threads (a
// sweep, sweep.h), halts them if the process certainly ends (halt.h), and waits for threads that also crash.
#ifndef CS_OTHERS_H
#define CS_OTHERS_H

#include <signal.h>
#include <stdbool.h>
#include <ucontext.h>

#include "cs_signal_safe.h"

// Stores that this thread is crashing. In cs_others_wait(), other crashing threads then wait until this thread calls
// cs_others_wait() itself, for about 1 s at most.
void cs_others_enter(const siginfo_t *information, const ucontext_t *context) SIGNAL_SAFE;

// Sweeps the other threads, unless another crash has already swept them. If this is the first crash that certainly ends
// the process, also halts them. Precondition: the caller's record is committed.
void cs_others_sweep_and_halt(int signal, const siginfo_t *information) SIGNAL_SAFE;

// Sweeps the other threads like cs_others_sweep_and_halt(), but does not halt them, because the process continues until
// the end of a drain.
void cs_others_sweep(void) SIGNAL_SAFE;

// Halts the other threads. Precondition: the calling thread has called cs_halt_begin(). Returns false if the other
// threads cannot be listed.
bool cs_others_halt(void) SIGNAL_SAFE;

// Waits, about 1 s at most, until the other crashing threads have committed and delivered their records, and writes the
// spool copy. Without this wait, the first thread that leaves the handler would end the process before the others have
// finished. If another thread crashes while the copy is written, also waits for that thread.
void cs_others_wait(void) SIGNAL_SAFE;

#endif
