// Recoverable faults: a first-chance handler, which the program installed before the start, may repair them. The record
// is written before that handler is called, and becomes a crash only if the handler does not return
// (docs/decisions/0121).
#ifndef CS_FIRST_CHANCE_H
#define CS_FIRST_CHANCE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "cs_signal_safe.h"
#include "signal_frame.h"

// Whether a handler of the program's has the first chance.
bool cs_first_chance_is_given(int signal, const siginfo_t *information) SIGNAL_SAFE;

// Prepares the call of the program's handler. No frame: the fault is a crash, for the handler has come back from it
// again and again, there is no room for its frame, or a handler that came after ours has called that. Precondition:
// cs_first_chance_is_given().
cs_signal_call cs_first_chance(int tid, siginfo_t *information, ucontext_t *context, const void *called_at,
                               uint64_t entry_ns) SIGNAL_SAFE;

// The thread crashes: what it wrote before the handler that it is still in is part of that.
void cs_first_chance_is_crash(int tid, const ucontext_t *context) SIGNAL_SAFE;

// What a record says of a crash that a handler has handed on. `sequence`: of the withdrawn record; UINT64_MAX: none.
typedef struct cs_cause {
  const siginfo_t *information;
  uint64_t sequence;
} cs_cause;

// The fault that led to a signal, where the thread comes straight from the handler: handlers put the default action
// back and return, or send the signal again. Else `information` itself. Valid until the thread's next fault.
cs_cause cs_first_chance_cause(int tid, const siginfo_t *information, const ucontext_t *context) SIGNAL_SAFE;

#endif
