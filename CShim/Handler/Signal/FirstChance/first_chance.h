// Recoverable faults: a first-chance handler, which the program installed before the start, may repair them. The shield
// writes a record before it calls the program's handler. The record becomes a crash only if the handler does not return
// (docs/decisions/0121).
#ifndef CS_FIRST_CHANCE_H
#define CS_FIRST_CHANCE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "cs_signal_safe.h"
#include "signal_frame.h"

// Returns whether a handler of the program gets the first chance.
bool cs_first_chance_is_given(int signal, const siginfo_t *information) SIGNAL_SAFE;

// Prepares the call of the program's handler. Returns no frame if the fault is a crash. The fault is a crash in three
// cases: the handler has repeatedly returned from the same fault, the stack has no space for the handler's frame, or a
// handler that was installed after ours called ours. Precondition: cs_first_chance_is_given().
cs_signal_call cs_first_chance(int tid, siginfo_t *information, ucontext_t *context, const void *called_at,
                               uint64_t entry_ns) SIGNAL_SAFE;

// Called when the thread crashes: the records of the handlers that are still on its stack become part of the crash.
void cs_first_chance_is_crash(int tid, const ucontext_t *context) SIGNAL_SAFE;

// The cause to record for a crash that a handler of the program passed on. `sequence` is that of the withdrawn record,
// or UINT64_MAX if there is none.
typedef struct cs_cause {
  const siginfo_t *information;
  uint64_t sequence;
} cs_cause;

// Returns the fault that led to a signal, if the thread came directly from the handler. Otherwise, returns
// `information` itself. Handlers pass a crash on in two ways: they restore the default action and return, or they send
// the signal again. The result is valid until the thread's next fault.
cs_cause cs_first_chance_cause(int tid, const siginfo_t *information, const ucontext_t *context) SIGNAL_SAFE;

#endif
