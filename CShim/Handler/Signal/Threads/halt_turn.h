// A thread that was running when a crash ends the process may be about to crash for the same reason. It therefore
// continues until it has used a short processor time.
#ifndef CS_HALT_TURN_H
#define CS_HALT_TURN_H

#include <stdbool.h>

#include "cs_signal_safe.h"

// Returns whether the calling thread, which was running, has used this processor time since its first call.
bool cs_halt_has_had_turn(int tid) SIGNAL_SAFE;

// Sends SIGPROF again to the threads that were allowed to continue. Otherwise, they would keep the processors busy
// during a sweep. Does nothing if our SIGPROF handler is not installed. Precondition: the halt has begun.
void cs_halt_remind(void) SIGNAL_SAFE;

void cs_halt_forget_turns(void) SIGNAL_SAFE;

#endif
