// The deadline of the handler. If handlers block, a thread of the shield commits partial records and ends the process.
#ifndef CS_WATCHDOG_H
#define CS_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

#include "cs_signal_safe.h"

// The time from the first crash to the end of the process, if the handlers do not end it.
#define CS_WATCHDOG_DEFAULT_MS 5000
#define CS_WATCHDOG_LIMIT_MS   60000

// The thread's routine. It returns when the shield's threads are dismissed.
void cs_watchdog_run(uint32_t deadline_ms) SIGNAL_SAFE;

// overdue.c: checks the unfinished records at each tick.
#define CS_TICK_MS 10
#define CS_TICK_NS INT64_C(10000000)
// The ticks after a reminder within which a reachable thread has run it.
#define CS_TICKS_AFTER_REMINDER 4

// Resets the state of an earlier process.
void cs_overdue_forget(void) SIGNAL_SAFE;

// Reminds the threads whose records take longer than `record_ticks`. Commits the records of threads whose reminder is
// pending but has not run. Returns true if it committed a record.
bool cs_overdue_look(uint32_t record_ticks) SIGNAL_SAFE;

// Before the end of the process: reminds all other threads, and then commits the remaining records.
// cs_overdue_commit_all() returns true if there were any.
void cs_overdue_remind_all(void) SIGNAL_SAFE;
bool cs_overdue_commit_all(void) SIGNAL_SAFE;

#endif
