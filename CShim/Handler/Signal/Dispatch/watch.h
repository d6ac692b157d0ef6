// Counts the threads that are in the handler. The first of these threads wakes the watchdog (watchdog.h).
#ifndef CS_WATCH_H
#define CS_WATCH_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "cs_signal_safe.h"

// A thread calls cs_watch_enter() when it enters the handler, and cs_watch_leave() when it leaves it. cs_watch_enter()
// returns true if no other thread was in the handler. If the watchdog is ending the process, cs_watch_leave() waits in
// the handler for the end, at most one minute.
bool cs_watch_enter(const siginfo_t *information) SIGNAL_SAFE;
void cs_watch_leave(void) SIGNAL_SAFE;

// Returns whether no thread is in the handler.
bool cs_watch_is_empty(void) SIGNAL_SAFE;

// Wakes the watchdog although no thread crashes.
void cs_watch_wake(void) SIGNAL_SAFE;

// Called after the creation of the watchdog: waits at most one second until it has started. The handler must not
// interrupt the watchdog, so it must know the watchdog's thread ID.
void cs_watch_await(void) SIGNAL_SAFE;

// For tests: returns how many times the watchdog has begun to sleep. The watchdog begins to sleep at its start, and
// after a crash that the process survived.
uint32_t cs_watch_rounds(void) SIGNAL_SAFE;

// In a forked child: resets the state, because the child has no watchdog.
void cs_watch_forget(void) SIGNAL_SAFE;

// For the watchdog: stores that the calling thread is the watchdog.
void cs_watch_start(void) SIGNAL_SAFE;
void cs_watch_note_round(void) SIGNAL_SAFE;
// Sleeps until a thread enters the handler, or until a wake-up. If `at_most` is NULL, there is no timeout.
void cs_watch_sleep(const struct timespec *at_most) SIGNAL_SAFE;
// Prevents all threads in the handler from leaving it. Returns false if no thread is in the handler any more: the
// process then survives.
bool cs_watch_close(void) SIGNAL_SAFE;
// Returns the signal of the thread that entered when no other thread was in the handler.
const siginfo_t *cs_watch_first(void) SIGNAL_SAFE;

#endif
