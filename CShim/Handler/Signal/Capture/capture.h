// Writes the complete record of a crash.
#ifndef CS_CAPTURE_H
#define CS_CAPTURE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "../Dispatch/crasher.h"

// Returns whether the signal certainly ends the process. The result takes into account the handlers that the program
// installed before and after ours.
bool cs_capture_is_end(int signal, const siginfo_t *information) SIGNAL_SAFE;

// Gives the thread its own descriptor table if the signal certainly ends the process.
void cs_capture_take_descriptors(int signal, const siginfo_t *information, cs_crasher *crasher) SIGNAL_SAFE;

// Writes the record and commits it. `cause` is the siginfo to record: `crasher->information`, or that of the fault that
// led to the signal.
void cs_capture(cs_crasher *crasher, const siginfo_t *cause, const ucontext_t *context, uint64_t entry_ns) SIGNAL_SAFE;

#endif
