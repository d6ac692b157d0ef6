// Coordinates a crashing thread with the other threads. It sweeps them, halts them, and waits for those that also
// crash.
#ifndef CS_OTHERS_H
#define CS_OTHERS_H

#include <signal.h>
#include <stdbool.h>
#include <ucontext.h>

#include "cs_signal_safe.h"

// Stores that this thread is crashing. Until this thread calls cs_others_wait(), the other crashing threads wait for it
// in their own cs_others_wait(), for about 1 s at most.
void cs_others_enter(const siginfo_t *information, const ucontext_t *context) SIGNAL_SAFE;

// Sweeps the other threads if no other crash has swept them before. Halts them if this is the first crash that
// certainly ends the process. The caller's record is already committed. Other crashing threads wait until this call
// ends.
void cs_others_sweep_and_halt(int signal, const siginfo_t *information) SIGNAL_SAFE;

// Halts the other threads. Precondition: the calling thread has called cs_halt_begin(). Returns false if the other
// threads cannot be listed.
bool cs_others_halt(void) SIGNAL_SAFE;

// Waits until the records of the other threads are committed and the copy contains them. This is necessary because the
// first thread that leaves the handler ends the process. Also waits for a thread that crashes while the copy is
// written.
void cs_others_wait(void) SIGNAL_SAFE;

#endif
