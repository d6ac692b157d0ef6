// Counts the threads in the handler, and wakes the watchdog at the first one (watchdog.h).
#ifndef CS_WATCH_H
#define CS_WATCH_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "cs_signal_safe.h"

// Enter and leave the handler on this thread. cs_watch_enter() returns whether no other thread is in the handler. While
// the watchdog is ending the process, cs_watch_leave() waits, at most one minute.
bool cs_watch_enter(const siginfo_t *information) SIGNAL_SAFE;
void cs_watch_leave(void) SIGNAL_SAFE;

// Returns whether no thread is in the handler.
bool cs_watch_is_empty(void) SIGNAL_SAFE;

// Wakes the watchdog without a crash.
void cs_watch_wake(void) SIGNAL_SAFE;

// Waits until the watchdog's tid is known, at most one second, because sweeps skip the watchdog.
void cs_watch_await(void) SIGNAL_SAFE;

// For tests: returns how often the watchdog began to sleep. After a crash the watchdog sleeps again when no thread is
// in the handler.
uint32_t cs_watch_rounds(void) SIGNAL_SAFE;

// In a forked child: notes that there is no watchdog.
void cs_watch_forget(void) SIGNAL_SAFE;

// For the watchdog: registers the calling thread as the watchdog.
void cs_watch_start(void) SIGNAL_SAFE;
void cs_watch_note_round(void) SIGNAL_SAFE;
// Sleeps until a thread enters the handler, or until a wake-up. `at_most` NULL: no timeout.
void cs_watch_sleep(const struct timespec *at_most) SIGNAL_SAFE;
// Stops threads from leaving the handler. Returns false if no thread is in it.
bool cs_watch_close(void) SIGNAL_SAFE;
// The signal of the thread that entered first.
const siginfo_t *cs_watch_first(void) SIGNAL_SAFE;

#endif
