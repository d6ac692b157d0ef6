// Recoverable faults: a first-chance handler, which the program installed before the start, may repair them. The record
// is written before that handler is called. It becomes a crash only if the handler does not return
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

// Prepares the call of the program's handler. Returns no frame if the fault is a crash. That is the case if the handler
// has returned from the same fault repeatedly, if there is no room for its frame, or if a handler installed after ours
// called ours. Precondition: cs_first_chance_is_given().
cs_signal_call cs_first_chance(int tid, siginfo_t *information, ucontext_t *context, const void *called_at,
                               uint64_t entry_ns) SIGNAL_SAFE;

// The thread crashes: the records of handlers that it is still in become part of the crash.
void cs_first_chance_is_crash(int tid, const ucontext_t *context) SIGNAL_SAFE;

// The cause in the record of a crash that a handler passed on. `sequence` is the withdrawn record's; UINT64_MAX: none.
typedef struct cs_cause {
  const siginfo_t *information;
  uint64_t sequence;
} cs_cause;

// Returns the fault that led to a signal, if the thread came straight from the handler: handlers restore the default
// action and return, or send the signal again. Otherwise returns `information` itself. Valid until the thread's next
// fault.
cs_cause cs_first_chance_cause(int tid, const siginfo_t *information, const ucontext_t *context) SIGNAL_SAFE;

#endif
