// Selects the threads to which the sweep and the halt can send SIGPROF. Threads that read SIGPROF from a signalfd, or
// wait for it in sigwait(), would consume the signal without running our handler. A server that consumes SIGPROF in
// this way can exit with its own status before the crash ends it.
#ifndef CS_REACH_H
#define CS_REACH_H

#include <stdbool.h>

#include "cs_signal_safe.h"

typedef enum cs_reach {
  // The thread will run the handler of SIGPROF, or is in a call during which SIGPROF stays pending. This value is also
  // returned if the kernel does not show the thread's state.
  CS_REACH_OPEN,
  CS_REACH_BUSY,   // the thread blocks SIGPROF while it runs, as libc does for short times
  CS_REACH_CLOSED, // the thread waits, and would consume SIGPROF or keep it pending
} cs_reach;

// Returns the current state of the thread. The state can have changed when the caller sends the signal. For example,
// the thread can have begun to wait for SIGPROF, and then consumes the signal.
cs_reach cs_reach_of(int tid) SIGNAL_SAFE;

// The marks (flags) of a thread, which record how SIGPROF reached the thread since the halt began.
typedef enum cs_reach_mark {
  CS_REACH_SENT = 1, // the sweep or the halt has sent SIGPROF to the thread
  CS_REACH_STAYS = 2,
  CS_REACH_PENDS = 4, // SIGPROF is pending for the thread
} cs_reach_mark;

// Concurrency: any number of threads may call these functions at the same time. If more than REACH_LIMIT threads have
// marks, further marks are dropped.
void cs_reach_mark_set(int tid, cs_reach_mark mark) SIGNAL_SAFE;
bool cs_reach_has_mark(int tid, cs_reach_mark mark) SIGNAL_SAFE;
void cs_reach_forget(void) SIGNAL_SAFE;

#endif
