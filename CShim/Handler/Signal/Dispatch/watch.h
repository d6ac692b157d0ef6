// The outside deadline of the handler. A thread of our own sleeps until a thread crashes, and then sees to it that what
// the handler has is committed, and that the process ends, whatever the handler waits for.
#ifndef CS_WATCH_H
#define CS_WATCH_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "cs_signal_safe.h"

// From the first crash to the end of the process, where the handler does not get there itself.
#define CS_WATCH_DEFAULT_MS 5000
#define CS_WATCH_LIMIT_MS   60000

// The handler begins on this thread, and ends: what comes after it is the program's. A thread that comes to the end
// when the watcher is ending the process does not get there. true: no other thread is in the handler.
bool cs_watch_enter(const siginfo_t *information) SIGNAL_SAFE;
void cs_watch_leave(void) SIGNAL_SAFE;

// Wakes the thread that watches, for no crash.
void cs_watch_wake(void) SIGNAL_SAFE;

// Whether no thread is in the handler.
bool cs_watch_is_empty(void) SIGNAL_SAFE;

// Waits until that thread is known by its number, at most a second: it takes no part in sweeps.
void cs_watch_await(void) SIGNAL_SAFE;

// How often the watcher has gone to sleep, for tests: after a crash it does once nobody is in the handler.
uint32_t cs_watch_rounds(void) SIGNAL_SAFE;

// In a forked child: nobody watches.
void cs_watch_forget(void) SIGNAL_SAFE;

// The thread's routine; returns when the shield's threads are dismissed.
void cs_watch_run(uint32_t deadline_ms) SIGNAL_SAFE;

#endif
