// The outside deadline of the handler: a thread of our own commits what the handlers have, and ends the process,
// whatever the handlers wait for.
#ifndef CS_WATCHDOG_H
#define CS_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

#include "cs_signal_safe.h"

// From the first crash to the end of the process, where the handler does not get there itself.
#define CS_WATCHDOG_DEFAULT_MS 5000
#define CS_WATCHDOG_LIMIT_MS   60000

// The thread's routine; returns when the shield's threads are dismissed.
void cs_watchdog_run(uint32_t deadline_ms) SIGNAL_SAFE;

// overdue.c: the records that are being written, checked at each tick.
#define CS_TICK_MS 10
#define CS_TICK_NS INT64_C(10000000)
// So long after a reminder, a thread that can be reached has come.
#define CS_TICKS_AFTER_REMINDER 4

// Forgets what it knew of an earlier process.
void cs_overdue_forget(void) SIGNAL_SAFE;

// Reminds the threads whose records take longer than `record_ticks`, and commits for those that the reminder will reach
// but has not. true: it has committed a record.
bool cs_overdue_look(uint32_t record_ticks) SIGNAL_SAFE;

// The process is about to end. Reminds all that have not been; then commits for those that are left: true if there
// were.
void cs_overdue_remind_all(void) SIGNAL_SAFE;
bool cs_overdue_commit_all(void) SIGNAL_SAFE;

#endif
