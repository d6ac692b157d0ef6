// Leaves the handler, so that the process continues in the same way as without the shield.
#ifndef CS_FINISH_H
#define CS_FINISH_H

#include <signal.h>
#include <stdbool.h>
#include <ucontext.h>

#include "cs_signal_safe.h"

// Restores the previous action and re-raises the signal. After a fault, the thread executes the faulting instruction
// again when the handler returns, which raises the signal. For other signals, this function queues the signal with the
// original siginfo. In both cases, the signal arrives with the original registers when the handler returns.
void cs_finish(int signal, const siginfo_t *information) SIGNAL_SAFE;

// In the first process of a pid namespace, the kernel drops a re-raised signal with the default action, but not the
// signal of a fault. If the signal came from a breakpoint or a system call, changes the context so that the thread
// executes this instruction again. The caller calls cs_finish() first.
void cs_finish_repeat(int signal, const siginfo_t *information, ucontext_t *context) SIGNAL_SAFE;

// Returns whether the re-raised signal ends the process: the program has no handler for it from before ours, and does
// not ignore it. A fault that occurs again also ends the process if its signal is ignored. In the first process of a
// pid namespace, no other signal ends the process.
bool cs_finish_is_end(int signal, const siginfo_t *information) SIGNAL_SAFE;

// Re-raises the signal while our handler stays installed. This is necessary if other code, not the kernel, called our
// handler with only the signal number.
void cs_finish_anew(int signal) SIGNAL_SAFE;

// Re-raises the signal with the default action. This is for a crash inside the handler. Another handler could not use
// the context of that crash, because this context describes the shield's code.
void cs_finish_by_default(int signal, const siginfo_t *information) SIGNAL_SAFE;

// Sets the default action, for a fault that occurs again when the handler returns.
void cs_finish_here_by_default(int signal) SIGNAL_SAFE;

// Ends the process by the signal. The calling thread did not crash and blocks the signal. Does not return.
void cs_finish_at_once(const siginfo_t *information) SIGNAL_SAFE;

#endif
