// The event loops of the process. A trap on a loop's thread leaves the loop's connections without service.
#ifndef CS_LOOPS_H
#define CS_LOOPS_H

#include <stdbool.h>

#include "cs_signal_safe.h"

#define CS_LOOP_LIMIT 64

// Stores that the calling thread runs the event loop with this epoll descriptor.
void cs_loop_note(int tid, int epoll_descriptor) SIGNAL_SAFE;

// Returns whether the calling thread runs an event loop. The result is true if cs_loop_note() was called on this
// thread, or if the thread has the name of a SwiftNIO thread.
bool cs_loop_is_here(void) SIGNAL_SAFE;

// Returns the epoll descriptor that cs_loop_note() stored for the thread, or -1.
int cs_loop_descriptor(int tid) SIGNAL_SAFE;

// In a forked child: stores that the child has no loops.
void cs_loops_forget(void) SIGNAL_SAFE;

#endif
