// The values with which a process describes its containment: what it does if a request traps, and why. A contained trap
// stops only its thread, which is then called parked. A drain lets the requests in flight finish and then ends the
// process.
#ifndef CS_RING_CONTAINMENT_H
#define CS_RING_CONTAINMENT_H

#include <stdint.h>

// The reaction of the process to a trap outside of isolated work (header.containment_mode).
typedef enum __attribute__((enum_extensibility(open))) cs_ring_containment : uint32_t {
  CS_RING_CONTAINMENT_OFF = 0,     // the process ends at once
  CS_RING_CONTAINMENT_DRAIN = 1,   // the process ends after the other requests have ended
  CS_RING_CONTAINMENT_CONTAIN = 2, // the process continues, up to header.containment_budget traps
} cs_ring_containment;

// The reason why containment does not work in the process, although its mode is not OFF.
typedef enum __attribute__((enum_extensibility(open))) cs_ring_obstacle : uint32_t {
  CS_RING_OBSTACLE_NONE = 0,
  CS_RING_OBSTACLE_IMAGES = 1,   // the images of the C library are not found
  CS_RING_OBSTACLE_RUNTIME = 2,  // functions of the Swift runtime are not found
  CS_RING_OBSTACLE_LOOKUP = 3,   // the handler cannot find the request of a task
  CS_RING_OBSTACLE_RUNNER = 4,   // the function that runs tasks is not found
  CS_RING_OBSTACLE_EXECUTOR = 5, // the handler cannot find the serial executor of a thread
  CS_RING_OBSTACLE_THREADS = 6,  // the threads of containment cannot be created
  CS_RING_OBSTACLE_HOOK = 7,     // other code has replaced the global executor
  CS_RING_OBSTACLE_VERSION = 8,  // the pool is not verified with this version of the Swift runtime
  CS_RING_OBSTACLE_CORES = 9,    // a drain without the pool needs two processors
} cs_ring_obstacle;

// Why a drain ended.
typedef enum __attribute__((enum_extensibility(open))) cs_ring_drain_end : uint32_t {
  CS_RING_DRAIN_NONE = 0, // there was no drain, or it is under way
  CS_RING_DRAIN_DONE = 1, // all requests in flight have ended
  CS_RING_DRAIN_DEADLINE = 2,
  CS_RING_DRAIN_STALL = 3,
  CS_RING_DRAIN_CRASH = 4, // another crash, or a trap after which too few threads were left
  CS_RING_DRAIN_EXIT = 5,  // the program called exit()
  CS_RING_DRAIN_WAITS = 6, // too many threads were stopped, some because they waited for a lock of a stopped thread
} cs_ring_drain_end;

// The decision of the handler at a trap.
typedef enum __attribute__((enum_extensibility(open))) cs_ring_verdict : uint16_t {
  CS_RING_VERDICT_NONE = 0, // not a trap, or containment is off
  CS_RING_VERDICT_CONTAIN = 1,
  CS_RING_VERDICT_DRAIN = 2,
  CS_RING_VERDICT_DIE = 3, // the process ended at once
} cs_ring_verdict;

// The reason for a verdict other than CONTAIN.
typedef enum __attribute__((enum_extensibility(open))) cs_ring_verdict_reason : uint16_t {
  CS_RING_VERDICT_REASON_NONE = 0,
  CS_RING_VERDICT_REASON_BUDGET = 1,       // the budget is used up, or the mode is DRAIN
  CS_RING_VERDICT_REASON_DEEP = 2,         // the stack has too many frames
  CS_RING_VERDICT_REASON_UNKNOWN = 3,      // the stack contains unknown frames
  CS_RING_VERDICT_REASON_LIBC = 4,         // the stack contains the C library or the loader
  CS_RING_VERDICT_REASON_DISPATCH = 5,     // the stack contains Dispatch
  CS_RING_VERDICT_REASON_GLOBAL = 6,       // the thread initializes a lazy global
  CS_RING_VERDICT_REASON_CONCURRENCY = 7,  // Swift's concurrency library calls the code, and not just as a task of its
                                           // pool
  CS_RING_VERDICT_REASON_ACTOR = 8,        // the task runs on an actor
  CS_RING_VERDICT_REASON_STREAM = 9,       // the thread holds the lock of stdin, stdout or stderr
  CS_RING_VERDICT_REASON_TASK = 10,        // the thread runs no task
  CS_RING_VERDICT_REASON_REQUEST = 11,     // the task has no contained request
  CS_RING_VERDICT_REASON_NOT_TRAP = 12,    // the signal is not from a trap instruction
  CS_RING_VERDICT_REASON_FOREIGN = 13,     // the trap, or a frame of its stack, is in an image without Swift code
  CS_RING_VERDICT_REASON_CHILD = 14,       // not used: containment is off in a forked child
  CS_RING_VERDICT_REASON_SENT = 15,        // a process sent the signal
  CS_RING_VERDICT_REASON_SHIELD = 16,      // the thread holds a lock of the shield, or is the shield's thread
                                           // that answers callers
  CS_RING_VERDICT_REASON_CORRUPT = 17,     // a crash or a failed heap check of the C library came before
  CS_RING_VERDICT_REASON_REPLACED = 18,    // other code has replaced the shield's handler
  CS_RING_VERDICT_REASON_RUNTIME = 19,     // the trap is in the Swift runtime
  CS_RING_VERDICT_REASON_FULL = 20,        // the ring has no free entry, or too many threads have parked
  CS_RING_VERDICT_REASON_REPEATED = 21,    // the same code has trapped too often
  CS_RING_VERDICT_REASON_WAITS = 22,       // another thread waits for a lock that the stopped thread holds
  CS_RING_VERDICT_REASON_DRAINING = 23,    // the process was draining already
  CS_RING_VERDICT_REASON_UNAVAILABLE = 24, // containment does not work in the process (header.containment_obstacle)
  CS_RING_VERDICT_REASON_LOOP = 25,        // the thread is an event loop
} cs_ring_verdict_reason;

#endif
