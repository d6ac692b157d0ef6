// Detects whether other code has replaced our handlers of the crash signals.
#ifndef CS_REPLACED_HANDLERS_H
#define CS_REPLACED_HANDLERS_H

#include "state.h"

// Stores in the ring which of our handlers are currently replaced. Makes one system call for each crash signal, in
// total about 2 µs.
void cs_replaced_handlers_note(void) SIGNAL_SAFE;

// Stores that the shield itself restored the previous action of the signal. After that, our handler does not count as
// replaced.
void cs_replaced_handler_give_back(int signal) SIGNAL_SAFE;

// Called while a thread is in our handler, also by the watchdog. Returns whether a handler that replaced ours has
// called it; that handler continues when ours returns. The result is also true if SA_RESETHAND has already removed the
// calling handler.
bool cs_handler_is_replaced(int signal) SIGNAL_SAFE;

#endif
