// The contained requests, which Shield.withContainedRequest runs: a trap in such a request stops only its thread, and
// the shield makes the caller, the code that called withContainedRequest, continue with an error. An entry of this
// table belongs to the request in the ring's entry with the same index. The table is in private memory, because the
// process bases decisions on it.
//
//   free ──arm──▶ armed ──finish──▶ free
//                   └──trap, or the end of a drain──▶ trapped: the shield resumes the caller
#ifndef CS_CONTAINED_REQUEST_H
#define CS_CONTAINED_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "../Capture/request.h"
#include "cs_ring.h"
#include "cs_signal_safe.h"

#define CS_CONTAINED_FREE    0u
#define CS_CONTAINED_ARMED   1u
#define CS_CONTAINED_TRAPPED 2u
#define CS_CONTAINED_MASK    0xffu

typedef struct cs_contained_request {
  uint64_t state;        // atomic: generation << 8 | CS_CONTAINED_…
  uint64_t continuation; // identifies the caller
  uint64_t holds;        // atomic: cs_contained_holds() with the number of the shield's locks that the request holds
} cs_contained_request;

// Returns the value of the field `holds` for `count` locks. The low half is the count, and the high half is the
// generation of the request.
static inline uint64_t cs_contained_holds(uint64_t handle, uint32_t count) SIGNAL_SAFE {
  return handle >> CS_REQUEST_INDEX_BITS << 32 | count;
}

extern cs_contained_request cs_contained_requests[CS_RING_REQUEST_LIMIT];

// What the handler finds about the contained request of a thread.
typedef struct cs_request_found {
  uint64_t handle; // of the innermost contained request; 0: none
  bool is_armed;   // its caller still waits
  bool is_held;    // it holds a lock of the shield
  bool has_task;   // the thread runs a task
} cs_request_found;

// Finds the contained request of the calling thread's task.
cs_request_found cs_contained_request_find(void) SIGNAL_SAFE;

// Returns the handle of the contained request of the calling thread's task, or 0 if there is none. Code outside of the
// handler calls this function.
uint64_t cs_contained_request_here(void) SIGNAL_SAFE;

// Marks the contained request `handle` of the calling thread's task as trapped, and also the requests that are nested
// in it. If `handle` is 0, marks all requests of the thread, because they never end. `is_waiter`: the thread did not
// trap, but waits for a parked thread. Returns true if the shield must resume the caller of the contained request.
bool cs_contained_request_trap(uint64_t handle, bool is_waiter) SIGNAL_SAFE;

// If the caller of this entry's request still waits, marks the request as trapped, stores the caller's continuation,
// and returns true.
bool cs_contained_request_take(uint32_t index, uint64_t *ret_continuation) SIGNAL_SAFE;

// Return the continuation and the number of a contained request.
uint64_t cs_contained_request_continuation(uint64_t handle) SIGNAL_SAFE;
uint64_t cs_contained_request_number(uint64_t handle) SIGNAL_SAFE;

// In a forked child, and when a new ring is made: frees all entries.
void cs_contained_requests_forget(void) SIGNAL_SAFE;

#endif
