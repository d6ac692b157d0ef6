// Functions for tests and crash-maker only. These functions bring the crash capture into states that ordinary crashes
// do not cause.
#ifndef CS_TESTING_H
#define CS_TESTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Claims a slot of the ring (space for one record), writes half of a record and returns. This is the state in which a
// SIGKILL in the middle of a capture leaves the slot. Returns false before the start of the shield.
bool cs_testing_claim_and_abandon(void);

// The points in the handler at which a fault can be injected, in the order in which a thread reaches them. A test can
// combine several points.
typedef enum __attribute__((enum_extensibility(open))) cs_injection_point : uint32_t {
  CS_INJECT_REGISTERS = 1,   // only the registers are recorded
  CS_INJECT_STACK = 2,       // the stack is recorded too
  CS_INJECT_COMMIT = 4,      // the record is complete, but not committed
  CS_INJECT_DELIVERY = 8,    // the record is committed, but not delivered
  CS_INJECT_SPOOL = 16,      // before the handler creates the spool file
  CS_INJECT_SWEEP = 32,      // before the handler sends signals to the other threads
  CS_INJECT_COMMITTING = 64, // after CS_INJECT_COMMIT: the thread has begun to commit the record (to mark it as
                             // complete)
  CS_INJECT_CLAIM = 128,     // before all other points: the handler has found a free slot, but has not claimed it yet
} cs_injection_point;

typedef enum __attribute__((enum_extensibility(open))) cs_injection : uint32_t {
  CS_INJECT_CRASH = 0, // the handler crashes
  CS_INJECT_SLEEP = 1, // the thread waits forever
  CS_INJECT_LOOP = 2,  // the thread runs forever
  CS_INJECT_DEAF = 3,  // the thread waits forever with all signals blocked
  CS_INJECT_HELD = 4,  // the thread waits in the kernel until a child process ends: cs_testing_let_go()
} cs_injection;

// Sets the fault to inject, and the points of the handler at which it is injected.
void cs_testing_inject(cs_injection injection, uint32_t places);

// Ends the child process for which a thread waits in the kernel. Returns false if there is no such child process.
bool cs_testing_let_go(void);

// Stops the watchdog's clock until `thread_count` threads have reached a point at which a fault is injected. After
// that, the watchdog sends a reminder to a thread that has not finished its record after `reminder_ms`. The watchdog
// ends the process after `deadline_ms`. If one of these times is 0, the configured time applies.
void cs_testing_watch(uint32_t thread_count, uint32_t reminder_ms, uint32_t deadline_ms);

// Returns how many times the watchdog has begun to sleep. It begins to sleep once after the start, and once after each
// crash that the process survived.
uint32_t cs_testing_watcher_rounds(void);

// Unwinds the caller's stack with the unwinder of the handler. Returns the number of program counters, at most `limit`.
// The first program counter is in the caller.
size_t cs_testing_unwind_here(uint64_t *ret_pcs, size_t limit);

// Reads call frame information from `size` bytes, as if these bytes were an image. The .eh_frame_hdr is at the offset
// `header_offset`, and the pc is at the offset `pc_offset`. Returns true if the reader finds rules and can apply them.
bool cs_testing_read_frame_information(const void *bytes, size_t size, size_t header_offset, uint64_t pc_offset);

// Makes containment ignore the images whose file names begin with `image`. The string must stay valid. Precondition: no
// contained work was started before this call.
void cs_testing_contained_ignore(const char *image);

// Makes the handler read the task-local values of a task at a wrong offset, as if the runtime had another layout.
void cs_testing_move_task_locals(void);

// Makes the next start of the shield behave as on Linux before 5.1, which does not have F_SEAL_FUTURE_WRITE.
void cs_testing_have_old_kernel(void);

// Return the ring of this process and the ring's descriptor, or NULL and -1 before the start.
const void *cs_testing_ring(void);
int cs_testing_ring_descriptor(void);

#endif
