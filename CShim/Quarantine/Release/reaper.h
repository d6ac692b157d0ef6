// The reaper's interface. The reaper is the thread that runs deferred deinits, because it holds no lock of the program.
#ifndef CS_QUARANTINE_REAPER_H
#define CS_QUARANTINE_REAPER_H

#include "../Table/class.h"

#pragma GCC visibility push(hidden)

bool cs_reaper_start(void);

// In addition to the budget, objects that wait for the reaper may take this fraction of it. The second constant applies
// to budgets below the default.
#define CS_WAITING_SHARE       8
#define CS_WAITING_SHARE_SMALL 10
extern _Atomic uint64_t cs_reaper_most;
extern _Atomic uint64_t cs_reaper_bytes; // of waiting objects

// Passes an object to the reaper. Returns false if the reaper lags behind. The object stays unchanged until the reaper
// handles it.
bool cs_reaper_give(const cs_slot *slot, cs_object *object);

// Waits until the reaper has handled all objects that it has received so far. Returns false if the reaper does not run
// in this process, or if it is the caller.
bool cs_reaper_wait(void);

// Wakes the reaper.
void cs_reaper_call(void);

// Finds the record of an object whose deinit is deferred or running. Returns false if there is none.
bool cs_reaper_find(const cs_object *object, cs_slot *ret_slot) SIGNAL_SAFE;

// For reaper_start.c.
extern _Atomic uint32_t cs_reaper_is_running;
extern _Atomic uint32_t cs_reaper_is_parked; // the process is exiting
// Divides the queue into places. Called once, before the reaper starts.
void cs_reaper_prepare(void);
void *cs_reaper_run(void *context);

#pragma GCC visibility pop

#endif
