// The end of the handler: the process goes on as if we had not been there.
#ifndef CS_FINISH_H
#define CS_FINISH_H

#include <signal.h>
#include <stdbool.h>

#include "cs_signal_safe.h"

// Puts the previous action back and has the signal happen again once the handler returns, with the registers it had:
// by the fault itself where that repeats, else by queueing the original siginfo.
void cs_finish(int signal, const siginfo_t *information) SIGNAL_SAFE;

// Whether that ends the process: no handler is called, and the signal is not ignored.
bool cs_finish_is_end(int signal, const siginfo_t *information) SIGNAL_SAFE;

// Has the signal happen again to our handler alone: other code called it, without what the kernel passes.
void cs_finish_anew(int signal) SIGNAL_SAFE;

// The same with the default action: after a crash of the handler the context means nothing to another one.
void cs_finish_by_default(int signal, const siginfo_t *information) SIGNAL_SAFE;

// The same for a fault that happens again by itself: with its default action from now on.
void cs_finish_here_by_default(int signal) SIGNAL_SAFE;

// Ends the process by the signal, from a thread that did not crash and blocks it. Does not return.
void cs_finish_at_once(const siginfo_t *information) SIGNAL_SAFE;

#endif
