// The turn of a thread that was running at a crash that ends the process. It may be about to crash too, so it continues
// until it has run on a processor for a short time.
#ifndef CS_HALT_TURN_H
#define CS_HALT_TURN_H

#include <stdbool.h>

#include "cs_signal_safe.h"

// Returns whether the calling thread, which was running, has run on a processor since the first request.
bool cs_halt_has_had_turn(int tid) SIGNAL_SAFE;

// Signals threads again that were allowed a turn, because during a sweep they would keep the processors busy. Does
// nothing if our SIGPROF handler is not installed. Precondition: the halt has begun.
void cs_halt_remind(void) SIGNAL_SAFE;

void cs_halt_forget_turns(void) SIGNAL_SAFE;

#endif
