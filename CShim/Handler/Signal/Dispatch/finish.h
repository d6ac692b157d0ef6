// The end of the handler: the process continues as it would without the shield.
#ifndef CS_FINISH_H
#define CS_FINISH_H

#include <signal.h>
#include <stdbool.h>

#include "cs_signal_safe.h"

// Restores the previous action and re-raises the signal, so that it arrives with its original registers when the
// handler returns. A fault that repeats needs no signal; otherwise the original siginfo is queued.
void cs_finish(int signal, const siginfo_t *information) SIGNAL_SAFE;

// Returns whether the re-raised signal ends the process: it has no handler and is not ignored.
bool cs_finish_is_end(int signal, const siginfo_t *information) SIGNAL_SAFE;

// Re-raises the signal to our handler only, because other code called our handler without the kernel's arguments.
void cs_finish_anew(int signal) SIGNAL_SAFE;

// Re-raises the signal with the default action: after a crash of the handler the context is useless to another handler.
void cs_finish_by_default(int signal, const siginfo_t *information) SIGNAL_SAFE;

// Sets the default action for a fault that repeats when the handler returns.
void cs_finish_here_by_default(int signal) SIGNAL_SAFE;

// Ends the process by the signal, from a thread that did not crash and blocks the signal. Does not return.
void cs_finish_at_once(const siginfo_t *information) SIGNAL_SAFE;

#endif
