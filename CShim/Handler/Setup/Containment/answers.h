// The threads of containment: the ender (drain.h), the thread of the answers, and the thread of the program's callback.
#ifndef CS_ANSWERS_H
#define CS_ANSWERS_H

#include <stdbool.h>

#include "cs_shim.h"

// Starts the three threads. Returns false if a thread cannot be created.
bool cs_answers_start(const cs_shim_containment *containment);

// Shuts down the connections of a parked event loop, so that its clients need not wait for the end of the process.
void cs_loop_cut(int tid);

#endif
