// Detects replaced handlers of the crash signals.
#ifndef CS_REPLACED_HANDLERS_H
#define CS_REPLACED_HANDLERS_H

#include "state.h"

// Writes to the ring which of our handlers were replaced since the start. Seven system calls, about 2 µs.
void cs_replaced_handlers_note(void) SIGNAL_SAFE;

// Notes that we restored the previous action of the signal, so that it does not count as replaced.
void cs_replaced_handler_give_back(int signal) SIGNAL_SAFE;

// Whether a handler that replaced ours handles the signal now, and continues when ours returns; one that SA_RESETHAND
// has removed counts.
bool cs_handler_is_replaced(int signal) SIGNAL_SAFE;

#endif
