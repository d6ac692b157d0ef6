// Detects whether other code has replaced our handlers of the crash signals.
#ifndef CS_REPLACED_HANDLERS_H
#define CS_REPLACED_HANDLERS_H

#include "state.h"

// Stores in the ring which of our handlers were replaced since the start. The function makes seven system calls, which
// take about 2 µs.
void cs_replaced_handlers_note(void) SIGNAL_SAFE;

// Stores that the shield itself restored the previous action of the signal. Our handler then does not count as
// replaced.
void cs_replaced_handler_give_back(int signal) SIGNAL_SAFE;

// Returns whether a handler that replaced ours is running, and continues when our handler returns. This includes a
// handler that SA_RESETHAND has already removed.
bool cs_handler_is_replaced(int signal) SIGNAL_SAFE;

#endif
