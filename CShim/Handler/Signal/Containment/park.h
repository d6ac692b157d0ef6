// The threads that stay in the handler after a trap (parked threads). Each has an entry in a table, and keeps it until
// it leaves the handler to end the process, or forever.
//
// | state   | the thread                                                                              |
// |---------|-----------------------------------------------------------------------------------------|
// | FREE    | no thread has the entry                                                                 |
// | JUDGING | judges its trap; a fault during this time makes the trap a crash                        |
// | REFUSED | returns to the trap after a fault during JUDGING; the next signal frees the entry       |
// | STAYS   | parks, or writes a crash record before it parks; other threads may read the entry       |
#ifndef CS_PARK_H
#define CS_PARK_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "../Unwind/cfi.h"
#include "containment.h"
#include "cs_ring.h"

// The maximum number of parked threads: those of contained traps, those that trap during a drain, and those that wait
// for a lock of a parked thread.
#define CS_PARK_LIMIT 256

typedef enum cs_park_state : uint32_t {
  CS_PARK_FREE = 0,
  CS_PARK_JUDGING = 1,
  CS_PARK_REFUSED = 2,
  CS_PARK_STAYS = 3,
} cs_park_state;

// The next action of a parked thread.
typedef enum cs_park_command : uint32_t {
  CS_PARK_WAIT = 0,
  CS_PARK_RECORD = 1, // writes a crash record of its trap, because a drain begins, and then waits for the next command
  CS_PARK_LEAVE = 2,  // leaves the handler and ends the process by its trap
} cs_park_command;

typedef struct cs_park {
  uint32_t state;   // atomic: cs_park_state
  uint32_t command; // atomic, a futex: cs_park_command
  int tid;          // atomic
  cs_ring_verdict verdict;
  cs_ring_verdict_reason reason;
  bool is_waiter; // the thread did not trap, but waits for a lock of a parked thread
  bool is_worker; // the thread ran a task or has a seat in the pool (pool.h): one thread less runs tasks
  bool is_loop;   // the thread is an event loop
  bool must_answer;
  uint32_t is_answered; // atomic: whether the thread of the answers has handled this entry
  uint64_t told_ns;     // CLOCK_MONOTONIC at cs_park_tell()
  uint64_t pc;
  uint64_t place;               // identifies the code that trapped
  uint64_t handle;              // of the contained request; 0: none
  uint64_t number;              // of the contained request
  struct cs_seat *seat;         // of the thread in the pool; NULL: none
  ucontext_t *context;          // the kernel's context of the trap
  cs_contained_message message; // of a contained trap
  cs_cfi_scratch scratch;
  cs_ring_registers registers;
  cs_ring_frame frames[CS_CONTAINED_FRAME_LIMIT + CS_CONTAINED_ASYNC_LIMIT];
} cs_park;

// Claims an entry for the calling thread. Returns NULL if the table is full.
cs_park *cs_park_take(int tid) SIGNAL_SAFE;
void cs_park_give_back(cs_park *park) SIGNAL_SAFE;

// After a fault of a thread that judges its trap: JUDGING becomes REFUSED. Returns false in another state.
bool cs_park_refuse(cs_park *park) SIGNAL_SAFE;
bool cs_park_is_refused(const cs_park *park) SIGNAL_SAFE;

// Returns the entry of a thread in the state JUDGING or REFUSED, or NULL.
cs_park *cs_park_before_stay(int tid) SIGNAL_SAFE;

// Returns the entry with an index below cs_park_count(), or NULL if the entry is not in the state STAYS.
cs_park *cs_park_at(uint32_t index) SIGNAL_SAFE;
uint32_t cs_park_index(const cs_park *park) SIGNAL_SAFE;
uint32_t cs_park_count(void) SIGNAL_SAFE;

// Returns the entry of a thread in the state STAYS, or NULL.
cs_park *cs_park_of(int tid) SIGNAL_SAFE;

// Returns how many threads have parked after a trap in the code that `place` identifies.
uint32_t cs_park_traps_at(uint64_t place) SIGNAL_SAFE;

// Makes the entry visible to the other threads (STAYS), and wakes the thread of the answers.
void cs_park_tell(cs_park *park) SIGNAL_SAFE;

// Blocks all signals of the thread, and waits until its command is no longer `command`. Returns the new command. The
// signals stay blocked.
cs_park_command cs_park_stay(cs_park *park, cs_park_command command) SIGNAL_SAFE;

void cs_park_order(cs_park *park, cs_park_command command) SIGNAL_SAFE;

// cs_park_news() returns a number that changes whenever a thread parks or a drain proceeds. cs_park_news_await() waits
// until the number differs from `seen`, or until the time `at_most` is over. NULL means no limit.
uint32_t cs_park_news(void) SIGNAL_SAFE;
void cs_park_news_add(void) SIGNAL_SAFE;
void cs_park_news_await(uint32_t seen, const struct timespec *at_most) SIGNAL_SAFE;

// In a forked child: stores that the child has no parked threads.
void cs_parks_forget(void) SIGNAL_SAFE;

#endif
