// The signal handler.
#ifndef CS_HANDLER_H
#define CS_HANDLER_H

#include <signal.h>

#include "cs_signal_safe.h"

void cs_handler(int signal, siginfo_t *information, void *context) SIGNAL_SAFE;

#endif
