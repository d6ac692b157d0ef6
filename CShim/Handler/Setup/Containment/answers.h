// The three threads of containment: the ender ends the process after a drain (drain.h), the thread of the answers does
// the work after a trap (answers.c), and the third runs the program's callback for a drain.
#ifndef CS_ANSWERS_H
#define CS_ANSWERS_H

#include <stdbool.h>

#include "cs_shim.h"

// Starts the three threads. Returns false if a thread cannot be created.
bool cs_answers_start(const cs_shim_containment *containment);

// Shuts down the connections of an event loop whose thread `tid` is parked, so that its clients need not wait for the
// end of the process.
void cs_loop_cut(int tid);

#endif
