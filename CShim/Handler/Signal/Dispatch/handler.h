// The signal handler.
#ifndef CS_HANDLER_H
#define CS_HANDLER_H

#include <signal.h>

#include "../FirstChance/signal_frame.h"
#include "cs_signal_safe.h"

void cs_handler(int signal, siginfo_t *information, void *context) SIGNAL_SAFE;

// What it does. `called_at` is where the return address of the call stands. Returns the program's handler that is to be
// called in its place, or no frame.
cs_signal_call cs_handle(int signal, siginfo_t *information, void *context, const void *called_at) SIGNAL_SAFE;

#endif
