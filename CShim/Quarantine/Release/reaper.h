// The interface of the reaper, a thread that runs deferred deinits: those of objects that leave the quarantine under
// the policy absorb. It can run deinits that take locks of the program, because it holds none of these locks itself.
#ifndef CS_QUARANTINE_REAPER_H
#define CS_QUARANTINE_REAPER_H

#include "../Table/class.h"

#pragma GCC visibility push(hidden)

bool cs_reaper_start(void);

// Objects that wait for the reaper can use this fraction of the memory budget, in addition to the objects in slots:
// 1/8, or 1/10 if the budget is below the default.
#define CS_WAITING_SHARE       8
#define CS_WAITING_SHARE_SMALL 10
extern _Atomic uint64_t cs_reaper_most;
extern _Atomic uint64_t cs_reaper_bytes; // the size of all waiting objects

// Passes an object whose deinit is deferred to the reaper. Returns false if the reaper's queue is full.
bool cs_reaper_give(const cs_slot *slot, cs_object *object);

// Waits without a time limit until the reaper has handled all objects that it has received before this call. Returns
// false if no reaper runs in this process, or if the reaper itself is the caller.
bool cs_reaper_wait(void);

// Wakes the reaper from its sleep.
void cs_reaper_call(void);

// Finds the record of an object that waits for the reaper or whose deinit it runs. Returns false if there is no such
// object.
bool cs_reaper_find(const cs_object *object, cs_slot *ret_slot) SIGNAL_SAFE;

// These variables are shared with reaper_start.c.
extern _Atomic uint32_t cs_reaper_is_running;
extern _Atomic uint32_t cs_reaper_is_parked; // whether the process is exiting
// Sets the number of entries of the queue, which depends on the budget. Called once, before the reaper starts.
void cs_reaper_prepare(void);
void *cs_reaper_run(void *context);

#pragma GCC visibility pop

#endif
