// The thread that runs deferred deinits: only a thread that holds none of the program's locks may.
#ifndef CS_QUARANTINE_REAPER_H
#define CS_QUARANTINE_REAPER_H

#include "../Table/class.h"

#pragma GCC visibility push(hidden)

bool cs_reaper_start(void);

// Objects that wait for the thread may take this fraction of the budget in addition to it; the second applies to
// budgets below the default.
#define CS_WAITING_SHARE       8
#define CS_WAITING_SHARE_SMALL 10
extern _Atomic uint64_t cs_reaper_most;
extern _Atomic uint64_t cs_reaper_bytes; // that wait now

// Returns false if the reaper lags behind. Until it handles the object, that stays unchanged.
bool cs_reaper_give(const cs_slot *slot, cs_object *object);

// Waits until the reaper has handled all objects so far. Returns false if it does not run in this process, or if it is
// the caller.
bool cs_reaper_wait(void);

// Wakes the reaper.
void cs_reaper_call(void);

// The record of an object whose deinit is deferred or running. Returns false if there is none.
bool cs_reaper_find(const cs_object *object, cs_slot *ret_slot) SIGNAL_SAFE;

// For reaper_start.c.
extern _Atomic uint32_t cs_reaper_is_running;
extern _Atomic uint32_t cs_reaper_is_parked; // the process ends
// Divides the queue into places. Once, before the thread runs.
void cs_reaper_prepare(void);
void *cs_reaper_run(void *context);

#pragma GCC visibility pop

#endif
