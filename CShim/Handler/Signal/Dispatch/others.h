// The coordination with other threads. A crashing thread sweeps them, halts them, and waits for those that also crash.
#ifndef CS_OTHERS_H
#define CS_OTHERS_H

#include <signal.h>
#include <stdbool.h>
#include <ucontext.h>

#include "cs_signal_safe.h"

// Marks the thread as crashing. From here on the other crashing threads wait for it.
void cs_others_enter(const siginfo_t *information, const ucontext_t *context) SIGNAL_SAFE;

// Sweeps the other threads if this is the first crash. Halts them if this is the first crash that ends the process. The
// record is already committed, and other crashing threads wait for the end of this call.
void cs_others_sweep_and_halt(int signal, const siginfo_t *information) SIGNAL_SAFE;

// Halts the other threads, for a thread that has called cs_halt_begin(). Returns false if they cannot be listed.
bool cs_others_halt(void) SIGNAL_SAFE;

// Waits until the records of the other threads are committed and included in the copy, because the first thread that
// finishes ends the process. Also waits for a thread that crashes while the copy is written.
void cs_others_wait(void) SIGNAL_SAFE;

#endif
