// The event loops of the process (threads that wait at an epoll descriptor, as in SwiftNIO). If a trap stops a loop's
// thread, the loop's connections are no longer served.
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
