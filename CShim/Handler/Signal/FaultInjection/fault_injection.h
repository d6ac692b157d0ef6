// Points in the handler at which tests inject faults (cs_testing.h). In a program without injected faults, each point
// costs a load and a branch.
#ifndef CS_FAULT_INJECTION_H
#define CS_FAULT_INJECTION_H

#include "../Dispatch/state.h"
#include "cs_signal_safe.h"
#include "cs_testing.h"

// Causes the fault that a test has chosen, for example an endless loop. Does not return, except after CS_INJECT_HELD.
void cs_inject(void) SIGNAL_SAFE;

// After CS_INJECT_HELD, returns the pid of the child process for which a thread waits in the kernel, else 0.
int cs_injection_holder(void) SIGNAL_SAFE;

static inline void cs_inject_here(cs_injection_point place) SIGNAL_SAFE {
  if ((cs_process.injection_points & place) != 0) cs_inject();
}

// Returns whether the watchdog must wait before it counts time, because a test expects more threads at an injection
// point.
static inline bool cs_injection_is_awaited(void) SIGNAL_SAFE {
  return __atomic_load_n(&cs_process.injections_met, __ATOMIC_RELAXED) < cs_process.injections_awaited;
}

#endif
