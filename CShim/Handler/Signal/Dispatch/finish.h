// Leaves the handler, so that the process continues in the same way as without the shield.
#ifndef CS_FINISH_H
#define CS_FINISH_H

#include <signal.h>
#include <stdbool.h>
#include <ucontext.h>

#include "cs_signal_safe.h"

// Restores the previous action and re-raises the signal. The signal arrives with the original registers when the
// handler returns. If the thread then executes the faulting instruction again, this instruction raises the signal, and
// the function sends none. Otherwise, the function queues the signal with the original siginfo.
void cs_finish(int signal, const siginfo_t *information) SIGNAL_SAFE;

// In the first process of a pid namespace, the kernel drops a re-raised signal with the default action, but not the
// signal of a fault. If the signal came from a breakpoint or a system call, changes the context so that the thread
// executes this instruction again. To be called after cs_finish().
void cs_finish_repeat(int signal, const siginfo_t *information, ucontext_t *context) SIGNAL_SAFE;

// Returns whether the re-raised signal ends the process, because the previous action is neither a handler nor SIG_IGN.
bool cs_finish_is_end(int signal, const siginfo_t *information) SIGNAL_SAFE;

// Re-raises the signal while our handler stays installed. This is necessary if other code called our handler without
// the kernel's arguments.
void cs_finish_anew(int signal) SIGNAL_SAFE;

// Re-raises the signal with the default action. This is for a crash inside the handler. Another handler could not use
// the context of that crash, because this context describes the shield's code.
void cs_finish_by_default(int signal, const siginfo_t *information) SIGNAL_SAFE;

// Sets the default action, for a fault that occurs again when the handler returns.
void cs_finish_here_by_default(int signal) SIGNAL_SAFE;

// Ends the process by the signal. The calling thread did not crash and blocks the signal. Does not return.
void cs_finish_at_once(const siginfo_t *information) SIGNAL_SAFE;

#endif
