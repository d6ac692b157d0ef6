// The watchdog, which enforces the handler's deadline. If crashing threads stall in the handler, this thread of the
// shield commits their partial records (marks them as complete) and ends the process.
#ifndef CS_WATCHDOG_H
#define CS_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

#include "cs_signal_safe.h"

// The deadline: the time from the first crash until the watchdog ends the process, if the handler has not ended it.
#define CS_WATCHDOG_DEFAULT_MS 5000
#define CS_WATCHDOG_LIMIT_MS   60000

// The routine of the watchdog's thread. The routine returns when the shield's threads are dismissed (asked to end).
void cs_watchdog_run(uint32_t deadline_ms) SIGNAL_SAFE;

// The watchdog checks the uncommitted records at intervals of this length (ticks), by the functions of overdue.c.
#define CS_TICK_MS 10
#define CS_TICK_NS INT64_C(10000000)
// The number of ticks in which a thread that can run handles its reminder.
#define CS_TICKS_AFTER_REMINDER 4

// In a forked child: resets the state that the child inherited from its parent.
void cs_overdue_forget(void) SIGNAL_SAFE;

// Sends a reminder to each thread that has been writing its record for more than `record_ticks` ticks. The reminder is
// the thread's own crash signal, which asks it to commit. Commits the record of a thread whose reminder is pending but
// has not been handled. Returns true if it committed a record.
bool cs_overdue_look(uint32_t record_ticks) SIGNAL_SAFE;

// Before the end of the process: cs_overdue_remind_all() sends a reminder to all threads with uncommitted records.
// cs_overdue_commit_all() later commits these records, and returns true if there were any.
void cs_overdue_remind_all(void) SIGNAL_SAFE;
bool cs_overdue_commit_all(void) SIGNAL_SAFE;

#endif
