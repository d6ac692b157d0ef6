// What a crashed thread does about the other threads: it sweeps them, halts them, and waits for those that crash.
#ifndef CS_OTHERS_H
#define CS_OTHERS_H

#include <signal.h>
#include <stdbool.h>
#include <ucontext.h>

#include "cs_signal_safe.h"

// The thread crashes: the others wait for it from here on.
void cs_others_enter(const siginfo_t *information, const ucontext_t *context) SIGNAL_SAFE;

// The first thread asks where the others are, and the first whose crash ends the process stops them. The crash itself
// is safe by now; others that crash wait for the end.
void cs_others_sweep_and_halt(int signal, const siginfo_t *information) SIGNAL_SAFE;

// Halts the others, for a thread that has called cs_halt_begin(). false: they cannot be seen.
bool cs_others_halt(void) SIGNAL_SAFE;

// The thread that finishes first ends the process: so not before the records of the others are safe, and in the copy. A
// thread that crashes while that is written is waited for as well.
void cs_others_wait(void) SIGNAL_SAFE;

#endif
