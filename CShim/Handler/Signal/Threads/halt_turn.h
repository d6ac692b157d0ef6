// The turn of a thread that was running when a crash came that ends the process: it may be about to crash as well, and
// goes on until it has been on a processor for a moment.
#ifndef CS_HALT_TURN_H
#define CS_HALT_TURN_H

#include <stdbool.h>

#include "cs_signal_safe.h"

// Whether the calling thread, which was running, has been on a processor since it was first asked.
bool cs_halt_has_had_turn(int tid) SIGNAL_SAFE;

// Asks those that were let go whether they have had their turn: while a sweep waits for others, they would keep the
// processors busy. Precondition: the halt has begun. Where SIGPROF is not ours, it does nothing.
void cs_halt_remind(void) SIGNAL_SAFE;

void cs_halt_forget_turns(void) SIGNAL_SAFE;

#endif
