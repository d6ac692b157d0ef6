// Containment: a Swift trap ends the work and not the process; docs/decisions/0086 has the reasons.
#ifndef CS_CONTAINED_H
#define CS_CONTAINED_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "../Unwind/cfi.h"
#include "cs_ring.h"

// The maximum number of frames between the trap and the start of the work; a deeper trap ends the process.
#define CS_CONTAINED_FRAME_LIMIT 256
// The maximum number of async callers.
#define CS_CONTAINED_ASYNC_LIMIT 16

// Images in whose functions no thread may be parked.
#define CS_CONTAINED_IMAGE_LIMIT 8

// Functions of the Swift runtime in which no thread may be parked.
#define CS_CONTAINED_FUNCTION_LIMIT 8

#define CS_CONTAINED_STREAM_COUNT 3

// The state of a work's thread, for its own handler.
typedef enum cs_contained_stage : uint32_t {
  CS_CONTAINED_RUNS = 0,
  CS_CONTAINED_RECORDS = 1, // it has trapped, and its record is written
  CS_CONTAINED_REFUSED = 2, // it could not be: the trap happens again, and is a crash
  CS_CONTAINED_PARKED = 3,
  CS_CONTAINED_UNPAID = 4, // it has trapped, and the budget is used up: a crash
} cs_contained_stage;

typedef struct cs_contained_range {
  uint64_t start;
  uint64_t end;
} cs_contained_range;

// One work. Two owners: its waiter, and its thread, which never releases it after a trap.
typedef struct cs_contained {
  uint32_t end;        // atomic, a futex: 0 while it goes on, then cs_shim_contained_end
  uint32_t references; // atomic
  uint32_t holds;      // atomic: locks of ours that it has
  int pid;             // the process that began it: a forked child has a copy
  uint64_t begin;      // the function that its stack leads to
  uint32_t way;        // so many frames from there on the runtime's own may be among them: it runs the work's task
  cs_contained_stage stage;
  ucontext_t *context; // the kernel's, of the trap
  cs_cfi_scratch scratch;
  cs_ring_frame frames[CS_CONTAINED_FRAME_LIMIT + CS_CONTAINED_ASYNC_LIMIT];
} cs_contained;

// The setup's findings; constant from the first work on.
typedef struct cs_contained_layout {
  int64_t offset; // atomic: from the thread pointer to the word that holds the thread's work; 0: there is none yet
  uint32_t image_count;
  cs_contained_range images[CS_CONTAINED_IMAGE_LIMIT];
  cs_contained_range concurrency; // Swift's, where it is a library of its own
  uint32_t function_count;
  uint64_t function_start[CS_CONTAINED_FUNCTION_LIMIT]; // as unwind tables have it
  // The addresses of glibc's lock owners of stdin, stdout and stderr.
  uint64_t stream_owner[CS_CONTAINED_STREAM_COUNT];
} cs_contained_layout;

extern cs_contained_layout cs_contained_here;

// The stack from the start of the work to here. `registers` are the caller's.
void cs_contained_note_way(cs_contained *work, const cs_ring_registers *registers) SIGNAL_SAFE;

// The number of frames from the start of the work to the trap at `registers`; 0: unknown, or a thread must not be
// parked in one of them. `ret_count` also counts the async frames after them.
uint32_t cs_contained_way_of_trap(cs_contained *work, const cs_ring_registers *registers,
                                  uint32_t *ret_count) SIGNAL_SAFE;

// Fills in all but `offset`. Returns the reason why no trap can be contained in this process; NULL if traps can. Not
// from a handler.
const char *cs_contained_find(cs_contained_layout *ret_layout);

// The limit of parked threads, and their number. Atomic.
extern uint32_t cs_contained_budget;
extern uint32_t cs_contained_parked;

// Handles a signal of a thread outside of our handler. Does not return for a contained trap. Returns true if the thread
// continues at the changed `context`; false if the signal is not for containment.
bool cs_containment_takes(int signal, const siginfo_t *information, ucontext_t *context) SIGNAL_SAFE;

// incident.c: as cs_shim_incident(). false: the ring has it not, before the start or because the table is full, which
// is counted.
bool cs_incident_keep(const cs_ring_incident *incident) SIGNAL_SAFE;

// Whether the calling thread's trap is a crash because the limit is reached.
bool cs_contained_is_over_budget(void) SIGNAL_SAFE;

// In a forked child: notes that no thread is parked.
void cs_contained_forget(void) SIGNAL_SAFE;

// In a forked child: notes that the remaining thread is in no work. Not from a handler.
void cs_contained_forget_here(void);

#endif
