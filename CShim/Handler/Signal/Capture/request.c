#include "cs_platform.h"

#if CS_SUPPORTED

#include "request.h"

#include "../Dispatch/state.h"
#include "../Dispatch/trusted.h"
#include "../Kernel/memory.h"
#include "cs_ring_access.h"
#include "registers_here.h"
#include "task.h"

cs_request_places cs_requests_here;
cs_request_word cs_request_words[CS_REQUEST_WORD_COUNT];

bool cs_request_copy(const cs_ring *ring, uint64_t handle, cs_ring_request *ret_request) SIGNAL_SAFE {
  const cs_ring_request *request = &ring->requests[cs_request_index(handle)];
  const uint64_t state = cs_ring_request_state_acquire(request);
  if (state != cs_request_running(handle) && state != cs_request_trapped(handle)) return false;
  memcpy(ret_request, request, sizeof *ret_request);
  return cs_ring_request_state_recheck(request) == state;
}

uint64_t cs_request_of_thread(void) SIGNAL_SAFE {
  cs_memory memory = {0};
  uint64_t handle = 0;
  const int64_t offset = __atomic_load_n(&cs_requests_here.offset, __ATOMIC_RELAXED);
  if (offset == 0 || !cs_memory_read_word(&memory, cs_thread_pointer() + (uint64_t)offset, &handle)) return 0;
  return handle;
}

// Returns the handle of the calling thread's request. If the thread runs a task, only the value in the task is valid:
// the thread's own handle can belong to synchronous code that runs tasks on this thread.
static uint64_t handle_here(void) SIGNAL_SAFE {
  uint64_t handle = 0;
  const uint64_t key = __atomic_load_n(&cs_requests_here.key, __ATOMIC_RELAXED);
  const bool is_refused = __atomic_load_n(&cs_requests_here.lookup, __ATOMIC_RELAXED) == CS_RING_REQUEST_LOOKUP_REFUSED;
  switch (cs_task_local_read(&cs_process.task_layout, key, 0, &handle)) {
  case CS_TASK_LOCAL_FOUND:
    return is_refused ? 0 : handle;
  case CS_TASK_LOCAL_ABSENT:
    return 0;
  case CS_TASK_LOCAL_NO_TASK:
    break;
  }
  return cs_request_of_thread();
}

void cs_record_request(cs_ring_slot *slot) SIGNAL_SAFE {
  if (__atomic_load_n(&cs_requests_here.key, __ATOMIC_RELAXED) == 0) return;
  const uint64_t handle = handle_here();
  if (handle != 0 && cs_request_copy(cs_process.ring, handle, &slot->request)) {
    slot->request_crc = cs_ring_crc32c(0, &slot->request, sizeof slot->request);
  } else {
    memset(&slot->request, 0, sizeof slot->request);
  }
}

#endif
