// Decides what happens after a trap. DIE: the process ends at once. DRAIN: the process finishes the requests in flight
// and then ends (drain.h). CONTAIN: the thread stays in the handler forever (it parks), and the process continues.
//
// clang-format off
// | situation                                           | verdict | reason                                             |
// |-----------------------------------------------------|---------|----------------------------------------------------|
// | The signal is not a trap's, or a process sent it.   | DIE     | NOT_TRAP, SENT                                     |
// | Another handler has replaced ours.                  | DIE     | REPLACED: that handler may hold a lock             |
// | A crash or a failed heap check came before.         | DIE     | CORRUPT                                            |
// | The trap is not in code compiled from Swift.        | DIE     | FOREIGN: memory of the process may be damaged      |
// | The table of parked threads is full.                | DIE     | FULL                                               |
// | The thread is the shield's thread of the answers.   | DIE     | SHIELD                                             |
// | The thread faults while it judges.                  | DIE     | UNKNOWN                                            |
// | A drain is under way.                               | DRAIN   | DRAINING                                           |
// | The thread is an event loop.                        | DRAIN   | LOOP: its connections cannot be served any more    |
// | The thread runs no task.                            | DRAIN   | TASK: the caller that waits for it is unknown      |
// | The task runs on an actor.                          | DRAIN   | ACTOR: the actor never becomes free                |
// | The stack has frames that may hold a lock.          | DRAIN   | LIBC, DISPATCH, GLOBAL, CONCURRENCY, RUNTIME,      |
// |                                                     |         | FOREIGN                                            |
// | The stack does not lead to the begin of a job.      | DRAIN   | DEEP, UNKNOWN                                      |
// | The thread holds a stream or a lock of the shield.  | DRAIN   | STREAM, SHIELD                                     |
// | The task has no contained request.                  | DRAIN   | REQUEST                                            |
// | CONTAIN does not work in this process.              | DRAIN   | UNAVAILABLE                                        |
// | The same code has trapped too often.                | DRAIN   | REPEATED                                           |
// | The mode is DRAIN, or the budget is used up.        | DRAIN   | BUDGET                                             |
// | The ring has no room for the incident.              | DRAIN   | FULL: every trap needs a report                    |
// | otherwise                                           | CONTAIN |                                                    |
// clang-format on
#ifndef CS_JUDGE_H
#define CS_JUDGE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "cs_ring.h"
#include "park.h"

// The maximum number of functions on the stack between the start of a pool thread and the code of a task.
#define CS_JUDGE_WAY_LIMIT 8
// The maximum number of images that contain code compiled from Swift.
#define CS_JUDGE_SWIFT_IMAGE_LIMIT 256

// An image that contains code compiled from Swift.
typedef struct cs_swift_image {
  cs_contained_range range;
  bool is_runtime; // whether the image is one of Swift's own libraries
} cs_swift_image;

// What the setup determines for the decision. The arrays do not change after their counts are stored.
typedef struct cs_judge_layout {
  uint32_t swift_image_count; // atomic
  cs_swift_image swift_images[CS_JUDGE_SWIFT_IMAGE_LIMIT];
  // The start addresses of the runtime's and the pool's functions that run a task, from the function that calls the
  // task's code outwards.
  uint32_t way_count; // atomic; 0: unknown
  uint64_t way[CS_JUDGE_WAY_LIMIT];
} cs_judge_layout;

extern cs_judge_layout cs_judge_here;

typedef struct cs_judgement {
  cs_ring_verdict verdict; // NONE: containment is off
  cs_ring_verdict_reason reason;
  cs_park *park; // of the thread, for the verdicts CONTAIN and DRAIN
} cs_judgement;

// Decides how to handle a signal of a thread that was not inside our handler. For the verdicts CONTAIN and DRAIN, the
// function puts the thread into the table of parked threads, and marks the thread's request as trapped. The thread of
// the answers (answers.c) then resumes the code that waits for the request.
cs_judgement cs_judge(int tid, int signal, const siginfo_t *information, ucontext_t *context) SIGNAL_SAFE;

// Handles a fault that a thread causes while it judges its own trap: returns true, and the thread returns to its trap,
// which is then treated as a crash. Returns false for any other signal.
bool cs_judge_takes_fault(int tid, const siginfo_t *information, ucontext_t *context) SIGNAL_SAFE;

#endif
