// Detects replaced handlers of the crash signals.
#ifndef CS_REPLACED_HANDLERS_H
#define CS_REPLACED_HANDLERS_H

#include "state.h"

// Writes to the ring which of our handlers were replaced since the start. It takes seven system calls, about 2 µs.
void cs_replaced_handlers_note(void) SIGNAL_SAFE;

// Notes that the shield restored the previous action of the signal, so that our handler does not count as replaced.
void cs_replaced_handler_give_back(int signal) SIGNAL_SAFE;

// Returns whether a handler that replaced ours handles the signal now, and continues when ours returns. A handler that
// SA_RESETHAND has removed also counts.
bool cs_handler_is_replaced(int signal) SIGNAL_SAFE;

#endif
