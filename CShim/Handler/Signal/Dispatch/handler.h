// The signal handler, behind the entry that signal_frame.h declares.
#ifndef CS_HANDLER_H
#define CS_HANDLER_H

#include <signal.h>

#include "../FirstChance/signal_frame.h"
#include "cs_signal_safe.h"

// Handles the signal. `called_at` is where the return address of the call stands. Returns the program's handler that
// the entry calls next, or no frame.
cs_signal_call cs_handle(int signal, siginfo_t *information, void *context, const void *called_at) SIGNAL_SAFE;

#endif
