#include "cs_platform.h"

#if CS_SUPPORTED

#include "contained_request.h"

#include "../Capture/request.h"
#include "../Capture/task.h"
#include "../Dispatch/state.h"
#include "../Dispatch/trusted.h"
#include "drain.h"

// The maximum number of nested requests that the handler searches.
#define NESTING_LIMIT 16

cs_contained_request cs_contained_requests[CS_RING_REQUEST_LIMIT];

void cs_contained_requests_forget(void) SIGNAL_SAFE {
  memset(cs_contained_requests, 0, sizeof cs_contained_requests);
}

static uint64_t state_of(uint64_t handle, uint64_t step) SIGNAL_SAFE {
  return handle >> CS_REQUEST_INDEX_BITS << 8 | step;
}

// Requests can be nested. Reads the handle of the thread's task's request number `nth`, counted from the innermost one.
static cs_task_local read_handle(uint32_t nth, uint64_t *ret_handle) SIGNAL_SAFE {
  const uint64_t key = __atomic_load_n(&cs_requests_here.key, __ATOMIC_RELAXED);
  const bool is_refused = __atomic_load_n(&cs_requests_here.lookup, __ATOMIC_RELAXED) == CS_RING_REQUEST_LOOKUP_REFUSED;
  const cs_task_local result = cs_task_local_read(&cs_process.task_layout, key, nth, ret_handle);
  return result == CS_TASK_LOCAL_FOUND && is_refused ? CS_TASK_LOCAL_ABSENT : result;
}

cs_request_found cs_contained_request_find(void) SIGNAL_SAFE {
  cs_request_found found = {0};
  for (uint32_t nth = 0; nth < NESTING_LIMIT; nth++) {
    uint64_t handle = 0;
    const cs_task_local result = read_handle(nth, &handle);
    found.has_task = result != CS_TASK_LOCAL_NO_TASK;
    if (result != CS_TASK_LOCAL_FOUND) break;
    if (!cs_request_has_entry(handle)) continue;
    const cs_contained_request *request = &cs_contained_requests[cs_request_index(handle)];
    // acquire: pairs with the release store of cs_shim_contained_request_arm().
    const uint64_t state = __atomic_load_n(&request->state, __ATOMIC_ACQUIRE);
    found.is_armed = state == state_of(handle, CS_CONTAINED_ARMED);
    if (!found.is_armed && state != state_of(handle, CS_CONTAINED_TRAPPED)) continue;
    found.handle = handle;
    found.is_held = (uint32_t)__atomic_load_n(&request->holds, __ATOMIC_RELAXED) != 0;
    break;
  }
  return found;
}

uint64_t cs_contained_request_here(void) SIGNAL_SAFE {
  return cs_contained_request_find().handle;
}

// Marks the request in the ring as trapped. If the trap is in a task for which the request does not wait, another
// thread can end the request at the same time. One of the two exchanges fails, so the request is counted only once.
static bool mark_in_ring(uint64_t handle) SIGNAL_SAFE {
  cs_ring *ring = cs_process.ring;
  uint64_t running = cs_request_running(handle);
  // release: pairs with cs_ring_request_state_acquire().
  if (!__atomic_compare_exchange_n(&ring->requests[cs_request_index(handle)].state, &running,
                                   cs_request_trapped(handle), false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    return false;
  }
  // release: pairs with the acquire loads of cs_requests_ended().
  __atomic_fetch_add(&ring->header.request_failed, 1, __ATOMIC_RELEASE);
  return true;
}

static bool take(uint64_t handle) SIGNAL_SAFE {
  uint64_t armed = state_of(handle, CS_CONTAINED_ARMED);
  return handle != 0 &&
         __atomic_compare_exchange_n(&cs_contained_requests[cs_request_index(handle)].state, &armed,
                                     state_of(handle, CS_CONTAINED_TRAPPED), false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

bool cs_contained_request_trap(uint64_t handle, bool is_waiter) SIGNAL_SAFE {
  const bool has_taken = take(handle);
  uint32_t marked = 0;
  for (uint32_t nth = 0; nth < NESTING_LIMIT; nth++) {
    uint64_t inner = 0;
    const cs_task_local result = read_handle(nth, &inner);
    if (result == CS_TASK_LOCAL_NO_TASK) inner = nth == 0 ? cs_request_of_thread() : 0;
    if (result == CS_TASK_LOCAL_ABSENT || inner == 0) break;
    if (cs_request_has_entry(inner) && (inner != handle || has_taken)) marked += mark_in_ring(inner);
    if (inner == handle) break;
  }
  cs_drain_note_trapped(marked, is_waiter);
  return has_taken;
}

bool cs_contained_request_take(uint32_t index, uint64_t *ret_continuation) SIGNAL_SAFE {
  const uint64_t state = __atomic_load_n(&cs_contained_requests[index].state, __ATOMIC_ACQUIRE);
  if ((state & CS_CONTAINED_MASK) != CS_CONTAINED_ARMED) return false;
  const uint64_t handle = state >> 8 << CS_REQUEST_INDEX_BITS | index;
  if (!take(handle)) return false;
  mark_in_ring(handle);
  *ret_continuation = cs_contained_requests[index].continuation;
  return true;
}

uint64_t cs_contained_request_continuation(uint64_t handle) SIGNAL_SAFE {
  return cs_contained_requests[cs_request_index(handle)].continuation;
}

uint64_t cs_contained_request_number(uint64_t handle) SIGNAL_SAFE {
  return __atomic_load_n(&cs_process.ring->requests[cs_request_index(handle)].number, __ATOMIC_RELAXED);
}

#endif
