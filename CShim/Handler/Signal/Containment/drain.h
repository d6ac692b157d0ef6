// The settings of containment, and the state of a drain: if a trap cannot be contained, the process stops accepting
// requests, finishes those in flight, and then ends by the signal of the trap. A parked thread is a thread that stays
// in the handler after a trap (park.h). A caller is the code that waits for a contained request.
//
// clang-format off
// | phase  | begins when                                                    | then                                  |
// |--------|----------------------------------------------------------------|---------------------------------------|
// | NONE   | containment starts                                             | traps are contained                   |
// | DRAINS | a trap is not contained, or a thread waits for the lock of a   | the program stops accepting, and the  |
// |        | parked thread                                                  | requests in flight go on              |
// | TELLS  | no request is left, or the drain must end (cs_ring_drain_end)  | all callers that still wait are       |
// |        |                                                                | answered                              |
// | TOLD   | all callers have been answered                                 | the answers leave the process         |
// | ENDS   | 100 ms have passed after TELLS, or no caller was waiting       | the thread that trapped leaves the    |
// |        |                                                                | handler; its trap ends the process    |
// clang-format on
#ifndef CS_DRAIN_H
#define CS_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "cs_ring.h"
#include "park.h"

typedef enum cs_drain_phase : uint32_t {
  CS_DRAIN_NONE = 0,
  CS_DRAIN_DRAINS = 1,
  CS_DRAIN_TELLS = 2,
  CS_DRAIN_TOLD = 3,
  CS_DRAIN_ENDS = 4,
} cs_drain_phase;

typedef struct cs_containment {
  uint32_t mode;        // atomic: cs_ring_containment; OFF before the start, and in a forked child
  uint32_t can_contain; // atomic: whether this process can contain traps (the mode CONTAIN)
  uint32_t budget;
  uint32_t capacity; // the number of parked threads that ran tasks (workers, park.h) that a drain allows; one more ends
                     // the drain
  uint64_t grace_ns;
  uint64_t stall_ns; // 0: a drain never ends because no request makes progress
  bool has_pool;
  uint64_t record_ns; // how long the end of the process waits for threads that write a crash record
} cs_containment;

// The settings. Only the atomic fields change after the start.
extern cs_containment cs_containment_now;

static inline cs_ring_containment cs_containment_mode(void) SIGNAL_SAFE {
  // acquire: pairs with the release store of cs_shim_containment_start().
  return (cs_ring_containment)__atomic_load_n(&cs_containment_now.mode, __ATOMIC_ACQUIRE);
}

cs_drain_phase cs_drain_phase_now(void) SIGNAL_SAFE;
// Sleeps until the phase is at least `phase`, but not longer than `at_most_ns`.
void cs_drain_await(cs_drain_phase phase, uint64_t at_most_ns) SIGNAL_SAFE;

// Begins a drain. At its end, the trap of this parked thread ends the process. Returns false if a drain has already
// begun.
bool cs_drain_begin(const cs_park *park) SIGNAL_SAFE;

// Begins a drain because of a thread whose trap was contained at first, for a reason that was found later. That thread
// then writes a crash record.
void cs_drain_begin_by(cs_park *park, cs_ring_verdict_reason reason) SIGNAL_SAFE;

// Stores the number of a crash record in the ring if the record belongs to the trap that began the drain.
void cs_drain_note_record(const cs_park *park, uint64_t ticket) SIGNAL_SAFE;

// Counts requests that fail during the drain, because their thread trapped or because it waits for a parked thread
// (`is_waiter`).
void cs_drain_note_trapped(uint32_t requests, bool is_waiter) SIGNAL_SAFE;

// Requests the end of the drain for the reason `end`. Returns false if there is no drain, or if it already ends for
// another reason.
bool cs_drain_end(cs_ring_drain_end end) SIGNAL_SAFE;

// Stores that a thread has crashed in a way that ends the process at once. If the process is draining, the drain ends.
// After a fault or abort() (`is_fault`), later traps end the process at once too.
void cs_drain_note_crash(bool is_fault) SIGNAL_SAFE;
bool cs_drain_had_crash(void) SIGNAL_SAFE;

// cs_requests_ended() returns the number of requests that have ended, and cs_requests_in_flight() the number of running
// requests.
uint64_t cs_requests_ended(void) SIGNAL_SAFE;
uint32_t cs_requests_in_flight(void) SIGNAL_SAFE;

// The thread of the answers, which resumes callers (answers.c), calls this function when it has answered all of them.
void cs_drain_note_told(void) SIGNAL_SAFE;

// The ender calls these functions. The result of cs_drain_news() changes whenever the ender must check the state.
// cs_drain_reason() returns why the drain must end. cs_drain_tell() begins the phase TELLS. cs_drain_publish() writes
// the end of the drain to the ring. cs_drain_let_go() orders the thread whose trap ends the process to leave the
// handler.
uint32_t cs_drain_news(void) SIGNAL_SAFE;
void cs_drain_news_add(void) SIGNAL_SAFE;
void cs_drain_news_await(uint32_t seen, uint64_t at_most_ns) SIGNAL_SAFE;
cs_ring_drain_end cs_drain_reason(void) SIGNAL_SAFE;
cs_park *cs_drain_first(void) SIGNAL_SAFE;
void cs_drain_tell(void) SIGNAL_SAFE;
void cs_drain_publish(void) SIGNAL_SAFE;
void cs_drain_let_go(void) SIGNAL_SAFE;

// The routine of the ender, the thread that ends a drain. It uses only futexes, the clock and system calls, because any
// lock of the program can be held forever.
void cs_ender_run(void) SIGNAL_SAFE;

// In a forked child: stores that there is no drain, and switches containment off.
void cs_drain_forget(void) SIGNAL_SAFE;

#endif
