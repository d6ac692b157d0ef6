// Recoverable faults: the program installed a handler before the start of the shield (a first-chance handler), which
// can repair them. The shield writes a record before it calls the program's handler. The record counts as a crash only
// if the handler does not return (docs/decisions/0121).
#ifndef CS_FIRST_CHANCE_H
#define CS_FIRST_CHANCE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "cs_signal_safe.h"
#include "signal_frame.h"

// Returns whether the program's handler of the signal is called before the fault counts as a crash.
bool cs_first_chance_is_given(int signal, const siginfo_t *information) SIGNAL_SAFE;

// Prepares the call of the program's handler. Returns a call without a frame if the fault is a crash or cannot be
// passed on: the handler has repeatedly returned from the same fault, the stack has no space for the handler's frame, a
// handler that was installed after ours has called ours, the program no longer has a handler for the signal, or our
// handler has no usable frame (cs_signal_frame_of()). Precondition: cs_first_chance_is_given().
cs_signal_call cs_first_chance(int tid, siginfo_t *information, ucontext_t *context, const void *called_at,
                               uint64_t entry_ns) SIGNAL_SAFE;

// The crash handler calls this function when the thread crashes. The pending records of first-chance handlers that are
// still on the thread's stack become part of the crash.
void cs_first_chance_is_crash(int tid, const ucontext_t *context) SIGNAL_SAFE;

// The signal to record for a crash. It differs from the arriving signal if a handler of the program received a fault
// and then passed it on. `sequence` is the sequence number of the withdrawn record of that fault, or UINT64_MAX if
// there is none.
typedef struct cs_cause {
  const siginfo_t *information;
  uint64_t sequence;
} cs_cause;

// Returns the fault that led to a signal, if the thread came directly from the return of the fault's handler.
// Otherwise, returns `information` itself. A handler passes a fault on in two ways: it restores the default action and
// returns, or it sends the signal again. The result is valid until the thread's next fault.
cs_cause cs_first_chance_cause(int tid, const siginfo_t *information, const ucontext_t *context) SIGNAL_SAFE;

#endif
