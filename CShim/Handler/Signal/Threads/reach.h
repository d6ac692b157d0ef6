// Selects the threads that SIGPROF may be sent to: those that would run its handler. A thread that blocks it may read
// it from a signalfd, and one in sigwait() consumes it: the server would then end, as by any other signal, with an exit
// status of its own.
#ifndef CS_REACH_H
#define CS_REACH_H

#include <stdbool.h>

#include "cs_signal_safe.h"

typedef enum cs_reach {
  CS_REACH_OPEN, // it runs the handler, or keeps SIGPROF pending in a call that takes none; also where the kernel does
                 // not say
  CS_REACH_BUSY, // it blocks SIGPROF while it runs: libc does so for a moment
  CS_REACH_CLOSED, // it waits, and SIGPROF would stay pending or be what it waits for
} cs_reach;

// The state at this moment. A thread that begins to block SIGPROF, or to wait for it, between this and the signal still
// gets it.
cs_reach cs_reach_of(int tid) SIGNAL_SAFE;

// The state of a thread since the halt began.
typedef enum cs_reach_mark {
  CS_REACH_SENT = 1, // SIGPROF was sent to it, by the sweep or the halt
  CS_REACH_STAYS = 2,
  CS_REACH_PENDS = 4, // it keeps SIGPROF pending
} cs_reach_mark;

// Concurrency: any number of threads. Beyond REACH_LIMIT marked threads it drops marks.
void cs_reach_mark_set(int tid, cs_reach_mark mark) SIGNAL_SAFE;
bool cs_reach_has_mark(int tid, cs_reach_mark mark) SIGNAL_SAFE;
void cs_reach_forget(void) SIGNAL_SAFE;

#endif
