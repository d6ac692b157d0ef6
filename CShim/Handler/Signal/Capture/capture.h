// Writes the complete record of a crash.
#ifndef CS_CAPTURE_H
#define CS_CAPTURE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "../Dispatch/crasher.h"

// Returns whether the signal certainly ends the process. It does not if the program has a handler for it, installed
// before or after ours.
bool cs_capture_is_end(int signal, const siginfo_t *information) SIGNAL_SAFE;

// If the signal certainly ends the process, gives the thread its own descriptor table, so that other threads cannot
// close its descriptors.
void cs_capture_take_descriptors(int signal, const siginfo_t *information, cs_crasher *crasher) SIGNAL_SAFE;

// Writes the record and commits it (marks it as complete). `cause` is the siginfo to record: that of the signal, or
// that of an earlier fault that led to the signal.
void cs_capture(cs_crasher *crasher, const siginfo_t *cause, const ucontext_t *context, uint64_t entry_ns) SIGNAL_SAFE;

#endif
