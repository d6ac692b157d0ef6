// The turn of a thread that was running at a crash that ends the process: it may be about to crash as well, so it
// continues until it has been on a processor for a moment.
#ifndef CS_HALT_TURN_H
#define CS_HALT_TURN_H

#include <stdbool.h>

#include "cs_signal_safe.h"

// Whether the calling thread, which was running, has been on a processor since the first request.
bool cs_halt_has_had_turn(int tid) SIGNAL_SAFE;

// Rechecks threads that were allowed a turn: during a sweep they would keep the processors busy. Precondition: the halt
// has begun. Does nothing if SIGPROF is not ours.
void cs_halt_remind(void) SIGNAL_SAFE;

void cs_halt_forget_turns(void) SIGNAL_SAFE;

#endif
