// A thread that is running when a crash ends the process can be about to crash for the same reason. Such a thread
// therefore gets a turn: it continues until it has used 0.2 ms of processor time, and only then halts.
#ifndef CS_HALT_TURN_H
#define CS_HALT_TURN_H

#include <stdbool.h>

#include "cs_signal_safe.h"

// Returns whether the calling thread has used up its turn, which began at its first call of this function.
bool cs_halt_has_had_turn(int tid) SIGNAL_SAFE;

// Sends SIGPROF again to the threads that got a turn, so that they halt if the turn is over. Otherwise, they would keep
// the processors busy during a sweep. Does nothing if our SIGPROF handler is not installed. Precondition: the halt has
// begun.
void cs_halt_remind(void) SIGNAL_SAFE;

void cs_halt_forget_turns(void) SIGNAL_SAFE;

#endif
