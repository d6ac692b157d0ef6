// The outside deadline of the handler: a thread of our own commits what the handlers have, and ends the process,
// whatever the handlers wait for.
#ifndef CS_WATCHDOG_H
#define CS_WATCHDOG_H

#include <stdint.h>

#include "cs_signal_safe.h"

// From the first crash to the end of the process, where the handler does not get there itself.
#define CS_WATCHDOG_DEFAULT_MS 5000
#define CS_WATCHDOG_LIMIT_MS   60000

// The thread's routine; returns when the shield's threads are dismissed.
void cs_watchdog_run(uint32_t deadline_ms) SIGNAL_SAFE;

#endif
