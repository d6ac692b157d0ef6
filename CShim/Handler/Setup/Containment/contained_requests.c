// Starts and ends the containment of single requests. A request is armed while its caller waits for it: after a trap in
// it, the shield resumes the caller.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "../../Signal/Capture/request.h"
#include "../../Signal/Containment/contained_request.h"
#include "../../Signal/Containment/drain.h"
#include "../setup.h"
#include "contained_requests.h"

static uint64_t state_of(cs_shim_request handle, uint64_t step) {
  return handle >> CS_REQUEST_INDEX_BITS << 8 | step;
}

bool cs_shim_contained_request_arm(cs_shim_request handle, uint64_t continuation) {
  if (!cs_request_has_entry(handle) || !cs_shim_containment_is_on()) return false;
  cs_contained_request *request = &cs_contained_requests[cs_request_index(handle)];
  request->continuation = continuation;
  __atomic_store_n(&request->holds, cs_contained_holds(handle, 0), __ATOMIC_RELAXED);
  // release: pairs with the acquire loads of contained_request.c.
  __atomic_store_n(&request->state, state_of(handle, CS_CONTAINED_ARMED), __ATOMIC_RELEASE);
  return true;
}

bool cs_shim_contained_request_finish(cs_shim_request handle) {
  uint64_t armed = state_of(handle, CS_CONTAINED_ARMED);
  return __atomic_compare_exchange_n(&cs_contained_requests[cs_request_index(handle)].state, &armed,
                                     state_of(handle, CS_CONTAINED_FREE), false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

// Changes the number of the shield's locks that a request holds. Does nothing if the entry now belongs to another
// request: a task can hold a lock longer than its request runs.
static void change_holds(cs_shim_request handle, int difference) {
  uint64_t *word = &cs_contained_requests[cs_request_index(handle)].holds;
  uint64_t seen = __atomic_load_n(word, __ATOMIC_RELAXED);
  while (seen >> 32 == cs_contained_holds(handle, 0) >> 32) {
    const uint64_t wanted = seen + (uint64_t)(int64_t)difference;
    if (__atomic_compare_exchange_n(word, &seen, wanted, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return;
  }
}

// Returns the handle of the contained request, shifted left by one bit, with the lowest bit set. The lowest bit
// distinguishes this value from the value for isolated work, which is an even address.
void *cs_contained_request_hold(void) {
  if (!cs_shim_containment_is_on()) return NULL;
  const uint64_t handle = cs_contained_request_here();
  if (handle == 0) return NULL;
  change_holds(handle, 1);
  return (void *)(uintptr_t)(handle << 1 | 1);
}

bool cs_contained_request_let_go(void *hold) {
  const uint64_t handle = (uint64_t)(uintptr_t)hold >> 1;
  if (((uintptr_t)hold & 1) == 0) return false;
  change_holds(handle, -1);
  return true;
}

#endif
