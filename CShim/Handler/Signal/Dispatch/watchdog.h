// The watchdog, which enforces the handler's deadline. If crashing threads stall in the handler, this thread of the
// shield commits their partial records and ends the process.
#ifndef CS_WATCHDOG_H
#define CS_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

#include "cs_signal_safe.h"

// The time from the first crash to the end of the process, if the handlers do not end it.
#define CS_WATCHDOG_DEFAULT_MS 5000
#define CS_WATCHDOG_LIMIT_MS   60000

// The routine of the watchdog's thread. It returns when the shield's threads are dismissed.
void cs_watchdog_run(uint32_t deadline_ms) SIGNAL_SAFE;

// overdue.c: checks the uncommitted records at each tick.
#define CS_TICK_MS 10
#define CS_TICK_NS INT64_C(10000000)
// A thread that can run handles its reminder within this number of ticks.
#define CS_TICKS_AFTER_REMINDER 4

// In a forked child: resets the state that the child inherited from its parent.
void cs_overdue_forget(void) SIGNAL_SAFE;

// Sends a reminder to threads whose records take longer than `record_ticks`. Commits the record of a thread whose
// reminder is pending but has not been handled. Returns true if it committed a record.
bool cs_overdue_look(uint32_t record_ticks) SIGNAL_SAFE;

// Before the end of the process: sends a reminder to all threads with uncommitted records, and later commits these
// records. cs_overdue_commit_all() returns true if there were any.
void cs_overdue_remind_all(void) SIGNAL_SAFE;
bool cs_overdue_commit_all(void) SIGNAL_SAFE;

#endif
