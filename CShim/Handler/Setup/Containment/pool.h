// The thread pool of containment, which runs the jobs of Swift's global executor in place of Dispatch's threads.
//
// A seat is the pool's entry for one thread that runs jobs. If a trap parks the thread (it never runs again), another
// thread takes the seat. The number of threads that run jobs therefore stays the same.
#ifndef CS_POOL_H
#define CS_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "cs_signal_safe.h"

typedef struct cs_seat cs_seat;

// Starts the threads, and makes the jobs of Swift's global executor run on them. `width` is the number of seats; 0: the
// number of CPUs on which this process is allowed to run. Returns NULL, or the reason why this process cannot have a
// pool. After a failure, no job runs on the pool. Only the first call in a process has an effect. Later calls return
// its result.
const char *cs_pool_start(uint32_t width);

// Returns the seat of the calling thread; NULL: the thread has no seat.
cs_seat *cs_seat_here(void) SIGNAL_SAFE;

// The start address of cs_seat_run(), which runs the jobs of a seat. Its callers on the stack only start the thread.
extern uint64_t cs_seat_run_start;

// Marks the seat's thread as parked. The thread calls this function in the crash handler, before it parks.
void cs_seat_park(cs_seat *seat) SIGNAL_SAFE;

// Gives the seat of a parked thread to the spare thread, and creates the next spare thread. Returns false if the seat
// stays empty, because no thread can be created. Only one thread at a time may call this function. The crash handler
// must not call it.
bool cs_seat_replace(cs_seat *seat);

// Returns how many jobs have begun on the pool. The number grows while the pool makes progress.
uint64_t cs_pool_jobs(void) SIGNAL_SAFE;

// In a forked child: stores that the child has no pool. Jobs run on Swift's own threads again.
void cs_pool_forget(void);

#endif
