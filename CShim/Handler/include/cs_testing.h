// For tests and crash-maker only: puts the capture into states that no ordinary crash leaves.
#ifndef CS_TESTING_H
#define CS_TESTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Claims a slot of the ring, writes half a record and returns. SIGKILL in the middle of a capture leaves this state.
// Returns false before the start.
bool cs_testing_claim_and_abandon(void);

// Points in the handler, in the order in which a thread reaches them. Tests may combine them.
typedef enum __attribute__((enum_extensibility(open))) cs_injection_point : uint32_t {
  CS_INJECT_REGISTERS = 1,   // only the registers are recorded
  CS_INJECT_STACK = 2,       // the stack is recorded too
  CS_INJECT_COMMIT = 4,      // the record is complete, but not committed
  CS_INJECT_DELIVERY = 8,    // the record is committed, but not delivered
  CS_INJECT_SPOOL = 16,      // before the spool file is created
  CS_INJECT_SWEEP = 32,      // before the other threads are signaled
  CS_INJECT_COMMITTING = 64, // after CS_INJECT_COMMIT: the thread has begun to commit
  CS_INJECT_CLAIM = 128,     // before all other points: a free slot was found and not claimed yet
} cs_injection_point;

typedef enum __attribute__((enum_extensibility(open))) cs_injection : uint32_t {
  CS_INJECT_CRASH = 0, // the handler itself crashes
  CS_INJECT_SLEEP = 1, // it waits forever
  CS_INJECT_LOOP = 2,  // it runs forever
  CS_INJECT_DEAF = 3,  // it waits forever with all signals blocked
  CS_INJECT_HELD = 4,  // it stays in the kernel until a child process ends: cs_testing_let_go()
} cs_injection;

// Sets the injected fault for these points of the handler.
void cs_testing_inject(cs_injection injection, uint32_t places);

// Ends the child process that holds a thread. Returns false if there is none.
bool cs_testing_let_go(void);

// Delays the watchdog until `thread_count` threads have reached an injection point. It then reminds a thread that has
// not continued after `reminder_ms`, and ends the process after `deadline_ms`. For 0 the configured value applies.
void cs_testing_watch(uint32_t thread_count, uint32_t reminder_ms, uint32_t deadline_ms);

// Returns how often the watchdog has gone to sleep: once after the start, and once more when no thread is in the
// handler after a crash.
uint32_t cs_testing_watcher_rounds(void);

// Unwinds the caller's stack with the handler's unwinder. Returns the number of program counters, at most `limit`. The
// first one is in the caller.
size_t cs_testing_unwind_here(uint64_t *ret_pcs, size_t limit);

// Runs the reader of call frame information on `size` bytes that represent an image. Its .eh_frame_hdr is at
// `header_offset`, and the pc is at `pc_offset`. Returns true if it finds rules that can be applied.
bool cs_testing_read_frame_information(const void *bytes, size_t size, size_t header_offset, uint64_t pc_offset);

// Makes containment ignore images whose names begin with this text, which must stay valid. Precondition: called before
// the first contained work.
void cs_testing_contained_ignore(const char *image);

// Makes the next start behave as on a kernel before Linux 5.1, without F_SEAL_FUTURE_WRITE.
void cs_testing_have_old_kernel(void);

// The ring of this process and its descriptor; NULL and -1 before the start.
const void *cs_testing_ring(void);
int cs_testing_ring_descriptor(void);

#endif
