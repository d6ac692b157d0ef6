// For tests and crash-maker only: the states of the capture that no ordinary crash leaves behind.
#ifndef CS_TESTING_H
#define CS_TESTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Claims a slot of the ring, writes half a record and returns: what a kill -9 in the middle of a capture leaves. false
// when not started.
bool cs_testing_claim_and_abandon(void);

// Places in the handler, in the order in which a thread comes through them; they may be combined.
typedef enum __attribute__((enum_extensibility(open))) cs_injection_point : uint32_t {
  CS_INJECT_REGISTERS = 1,   // the registers are recorded, nothing else is
  CS_INJECT_STACK = 2,       // and the stack
  CS_INJECT_COMMIT = 4,      // all is, but not committed
  CS_INJECT_DELIVERY = 8,    // committed, not yet delivered
  CS_INJECT_SPOOL = 16,      // before the file is made
  CS_INJECT_SWEEP = 32,      // before the other threads are asked
  CS_INJECT_COMMITTING = 64, // after COMMIT: the thread has begun to
  CS_INJECT_CLAIM = 128,     // before all others: a slot looks free, and is not taken
} cs_injection_point;

typedef enum __attribute__((enum_extensibility(open))) cs_injection : uint32_t {
  CS_INJECT_CRASH = 0, // the handler itself crashes
  CS_INJECT_SLEEP = 1, // it waits for ever
  CS_INJECT_LOOP = 2,  // it runs for ever
  CS_INJECT_DEAF = 3,  // it waits for ever, and blocks all signals
  CS_INJECT_HELD = 4,  // the kernel does not let it go, until a child process of its ends: cs_testing_let_go()
} cs_injection;

// From now on that is what happens at these places of the handler.
void cs_testing_inject(cs_injection injection, uint32_t places);

// Ends the child process that holds a thread; false when there is none.
bool cs_testing_let_go(void);

// From now on the watchdog waits until so many threads have reached an injection point; then it reminds
// one that has not got on for `reminder_ms`, and ends the process after `deadline_ms`. 0 leaves either as it is
// configured.
void cs_testing_watch(uint32_t thread_count, uint32_t reminder_ms, uint32_t deadline_ms);

// How often the watchdog has gone to sleep: once after the start, and once no thread is in the handler after a crash.
uint32_t cs_testing_watcher_rounds(void);

// Walks the caller's stack with the handler's unwinder. Returns how many of `limit` program counters it wrote; the
// first is in the caller.
size_t cs_testing_unwind_here(uint64_t *ret_pcs, size_t limit);

// Runs the reader of call frame information on `size` bytes that stand for an image whose .eh_frame_hdr is at
// `header_offset`, with the pc at `pc_offset`. true when it found rules that can be applied.
bool cs_testing_read_frame_information(const void *bytes, size_t size, size_t header_offset, uint64_t pc_offset);

// Before the first contained work: images whose names begin so are not recognized. The text must stay.
void cs_testing_contained_ignore(const char *image);

// The next start finds a kernel before Linux 5.1: one without F_SEAL_FUTURE_WRITE.
void cs_testing_have_old_kernel(void);

// The ring of this process, and its descriptor; NULL and -1 when not started.
const void *cs_testing_ring(void);
int cs_testing_ring_descriptor(void);

#endif
