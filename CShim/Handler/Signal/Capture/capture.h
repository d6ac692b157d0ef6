// What is written of a crash: the record of the thread, whole.
#ifndef CS_CAPTURE_H
#define CS_CAPTURE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "../Dispatch/crasher.h"

// Whether the process ends by this signal, whatever the program has installed before and after us.
bool cs_capture_is_end(int signal, const siginfo_t *information) SIGNAL_SAFE;

// Takes a table of descriptors of the thread's own, where the process ends by the signal.
void cs_capture_take_descriptors(int signal, const siginfo_t *information, cs_crasher *crasher) SIGNAL_SAFE;

// Writes the record and commits it. `cause` is what the record says: `crasher->information`, or the fault that led to
// the signal.
void cs_capture(cs_crasher *crasher, const siginfo_t *cause, const ucontext_t *context, uint64_t entry_ns) SIGNAL_SAFE;

#endif
