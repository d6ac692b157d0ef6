// The coordination with other threads: a crashing thread sweeps them, halts them, and waits for those that crash.
#ifndef CS_OTHERS_H
#define CS_OTHERS_H

#include <signal.h>
#include <stdbool.h>
#include <ucontext.h>

#include "cs_signal_safe.h"

// Marks the thread as crashing: the others wait for it from here on.
void cs_others_enter(const siginfo_t *information, const ucontext_t *context) SIGNAL_SAFE;

// Sweeps the other threads, if this is the first crash, and halts them, if it is the first that ends the process. The
// record is already committed; other crashing threads wait for the end.
void cs_others_sweep_and_halt(int signal, const siginfo_t *information) SIGNAL_SAFE;

// Halts the others, for a thread that has called cs_halt_begin(). Returns false if they cannot be listed.
bool cs_others_halt(void) SIGNAL_SAFE;

// Waits until the records of the other threads are committed, and in the copy: the first thread to finish ends the
// process. It also waits for a thread that crashes while the copy is written.
void cs_others_wait(void) SIGNAL_SAFE;

#endif
