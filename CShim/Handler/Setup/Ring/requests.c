// The table of requests in flight. Shield.withRequest claims an entry at the beginning of a request, and frees the
// entry at its end. If no entry is free, the request is only counted (overflow).
#include "cs_platform.h"

#if CS_SUPPORTED

#include <string.h>

#include "../setup.h"

#include "../../Signal/Capture/registers_here.h"
#include "../../Signal/Capture/request.h"
#include "../../Signal/Dispatch/trusted.h"
#include "cs_ring_access.h"

// The functions of the Swift runtime that TaskLocal.withValue calls. They are weak, because a program can use the
// shield without Swift's concurrency.
extern __attribute__((weak, visibility("default"), swiftcall)) void
swift_task_localValuePush(const void *key, void *value, const void *type);
extern __attribute__((weak, visibility("default"), swiftcall)) void swift_task_localValuePop(void);

// The number of tables that this process and its parents have created. The handle of a request without an entry
// contains this number, so that a forked child can recognize a request of its parent and does not count its end.
static uint64_t table_count;

// The generation of each entry. A forked child keeps these values, so that a handle of the parent never identifies a
// request of the child. Only the thread that claimed an entry accesses the generation of that entry.
static uint64_t generations[CS_RING_REQUEST_LIMIT];

static uint32_t thread_count; // atomic: threads that have begun a request

// These variables use the initial-exec model, because __tls_get_addr may allocate memory.
static __thread uint32_t first_word __attribute__((tls_model("initial-exec"))); // 1 + the index of the word in which
                                                                                // this thread searches first; 0: not
                                                                                // chosen yet
static __thread uint64_t here __attribute__((tls_model("initial-exec")));       // the handle of the request that this
                                                                                // thread runs in synchronous code

void cs_requests_forget(void) {
  table_count++;
  for (uint32_t index = 0; index < CS_REQUEST_WORD_COUNT; index++)
    __atomic_store_n(&cs_request_words[index].used, 0, __ATOMIC_RELAXED);
}

// Claims the first free entry whose bit is in this word of cs_request_words. The loop is lock-free, because an exchange
// fails only if the exchange of another thread succeeded.
static bool take_in(uint32_t word, uint32_t *ret_index) {
  uint64_t used = __atomic_load_n(&cs_request_words[word].used, __ATOMIC_RELAXED);
  while (used != UINT64_MAX) {
    const uint32_t bit = (uint32_t)__builtin_ctzll(~used);
    // acquire: pairs with the release operation of cs_shim_request_end().
    if (__atomic_compare_exchange_n(&cs_request_words[word].used, &used, used | UINT64_C(1) << bit, true,
                                    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
      *ret_index = word * CS_REQUEST_WORD_BITS + bit;
      return true;
    }
  }
  return false;
}

static bool take(uint32_t *ret_index) {
  if (first_word == 0) first_word = __atomic_fetch_add(&thread_count, 1, __ATOMIC_RELAXED) % CS_REQUEST_WORD_COUNT + 1;
  for (uint32_t step = 0; step < CS_REQUEST_WORD_COUNT; step++) {
    if (take_in((first_word - 1 + step) % CS_REQUEST_WORD_COUNT, ret_index)) return true;
  }
  return false;
}

static void raise_high(cs_ring_header *header, uint32_t high) {
  uint32_t seen = __atomic_load_n(&header->request_high, __ATOMIC_RELAXED);
  while (seen < high &&
         !__atomic_compare_exchange_n(&header->request_high, &seen, high, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

static uint16_t put_text(uint8_t *to, size_t limit, cs_shim_text text) {
  const size_t kept = cs_text_cut(text.start, text.bytes, limit);
  memcpy(to, text.start, kept);
  return (uint16_t)kept;
}

static cs_shim_request overflowed(void) {
  return CS_REQUEST_OVERFLOWED | table_count << CS_REQUEST_INDEX_BITS;
}

cs_shim_request cs_shim_request_begin(cs_shim_text operation, cs_shim_text id) {
  cs_ring *ring = cs_started_ring();
  uint32_t index = 0;
  if (ring == NULL) return 0;
  const uint64_t number = __atomic_add_fetch(&ring->header.request_begun, 1, __ATOMIC_RELAXED);
  if (!take(&index)) {
    __atomic_fetch_add(&ring->header.request_overflow, 1, __ATOMIC_RELAXED);
    return overflowed();
  }
  cs_ring_request *request = &ring->requests[index];
  const uint64_t generation = ++generations[index];
  __atomic_store_n(&request->state, generation << 8 | CS_RING_REQUEST_CLAIMED, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_RELEASE); // the state is visible before the following writes
  // atomic: cs_shim_request_number() can read the number at the same time, through the handle of an earlier request
  // that has ended.
  __atomic_store_n(&request->number, number, __ATOMIC_RELAXED);
  request->started_ns = cs_clock_ns(CLOCK_REALTIME);
  memset(request->trace_id, 0, sizeof request->trace_id);
  memset(request->span_id, 0, sizeof request->span_id);
  request->operation_bytes = put_text(request->operation, sizeof request->operation, operation);
  request->id_bytes = put_text(request->id, sizeof request->id, id);
  request->tag_bytes = 0;
  raise_high(&ring->header, index + 1);
  return generation << CS_REQUEST_INDEX_BITS | index;
}

static cs_ring_request *entry_of(cs_ring *ring, cs_shim_request handle) {
  return cs_request_has_entry(handle) && ring != NULL ? &ring->requests[cs_request_index(handle)] : NULL;
}

void cs_shim_request_trace(cs_shim_request handle, cs_shim_text trace_id, cs_shim_text span_id) {
  cs_ring_request *request = entry_of(cs_started_ring(), handle);
  if (request == NULL) return;
  cs_hex_digits_put(request->trace_id, sizeof request->trace_id, trace_id);
  cs_hex_digits_put(request->span_id, sizeof request->span_id, span_id);
}

// Copies a string without its NUL bytes, and adds a NUL byte at the end. Returns the number of bytes.
static size_t put_part(uint8_t *to, cs_shim_text text) {
  size_t size = 0;
  for (size_t at = 0; at < text.bytes; at++) {
    if (text.start[at] != 0) to[size++] = (uint8_t)text.start[at];
  }
  to[size++] = 0;
  return size;
}

void cs_shim_request_tag(cs_shim_request handle, cs_shim_text key, cs_shim_text value) {
  cs_ring_request *request = entry_of(cs_started_ring(), handle);
  if (request == NULL || key.bytes == 0) return;
  const size_t room = sizeof request->tags - request->tag_bytes;
  if (key.bytes >= room || value.bytes >= room || key.bytes + value.bytes + 2 > room) return;
  uint8_t *to = request->tags + request->tag_bytes;
  const size_t key_bytes = put_part(to, key);
  request->tag_bytes += (uint16_t)(key_bytes + put_part(to + key_bytes, value));
}

void cs_shim_request_run(cs_shim_request handle) {
  cs_ring_request *request = entry_of(cs_started_ring(), handle);
  // release: pairs with cs_ring_request_state_acquire().
  if (request != NULL) __atomic_store_n(&request->state, cs_request_running(handle), __ATOMIC_RELEASE);
}

void cs_shim_request_end(cs_shim_request handle, bool has_failed) {
  cs_ring *ring = cs_started_ring();
  if (ring == NULL || handle == 0) return;
  if (!cs_request_has_entry(handle)) {
    // In a forked child, a request of the parent is not counted.
    if (handle != overflowed()) return;
  } else {
    const uint32_t index = cs_request_index(handle);
    uint64_t running = cs_request_running(handle);
    // The exchange fails if the request has already ended or trapped, and in a forked child for a request of the
    // parent. relaxed: the next claim stores a new generation before it writes to the entry.
    if (!__atomic_compare_exchange_n(&ring->requests[index].state, &running,
                                     handle >> CS_REQUEST_INDEX_BITS << 8 | CS_RING_REQUEST_FREE, false,
                                     __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      return;
    }
    // release: pairs with the acquire exchange of take_in().
    __atomic_fetch_and(&cs_request_words[index / CS_REQUEST_WORD_BITS].used,
                       ~(UINT64_C(1) << index % CS_REQUEST_WORD_BITS), __ATOMIC_RELEASE);
  }
  cs_ring_header *header = &ring->header;
  // release: pairs with the acquire loads of cs_requests_ended().
  __atomic_fetch_add(has_failed ? &header->request_failed : &header->request_finished, 1, __ATOMIC_RELEASE);
}

uint64_t cs_shim_request_number(cs_shim_request handle) {
  const cs_ring_request *request = entry_of(cs_started_ring(), handle);
  if (request == NULL) return 0;
  if (cs_ring_request_state_acquire(request) != cs_request_running(handle)) return 0;
  const uint64_t number = __atomic_load_n(&request->number, __ATOMIC_RELAXED);
  return cs_ring_request_state_recheck(request) == cs_request_running(handle) ? number : 0;
}

cs_shim_request cs_shim_request_enter(cs_shim_request handle) {
  const cs_shim_request outer = here;
  const int64_t offset = (int64_t)((uint64_t)(uintptr_t)&here - cs_thread_pointer());
  // The offset from the thread pointer is equal on all threads.
  if (__atomic_load_n(&cs_requests_here.offset, __ATOMIC_RELAXED) == 0) {
    __atomic_store_n(&cs_requests_here.offset, offset, __ATOMIC_RELAXED);
  }
  here = handle;
  return outer;
}

bool cs_shim_request_bind(uint64_t key, cs_shim_request request, const void *type) {
  if (swift_task_localValuePush == NULL || swift_task_localValuePop == NULL) return false;
  swift_task_localValuePush((const void *)(uintptr_t)key, &request, type);
  return true;
}

void cs_shim_request_unbind(void) {
  swift_task_localValuePop();
}

// Tests whether the crash handler can find the handle of a task's request: reads it from the task-local values in the
// same way as the handler. Returns UNCHECKED if this thread does not run a task.
static uint32_t lookup_of(uint64_t key, cs_shim_request handle) {
  uint64_t found = 0;
  if (!cs_process.task_layout.is_known) return CS_RING_REQUEST_LOOKUP_REFUSED;
  switch (cs_task_local_read(&cs_process.task_layout, key, 0, &found)) {
  case CS_TASK_LOCAL_NO_TASK:
    return CS_RING_REQUEST_LOOKUP_UNCHECKED;
  case CS_TASK_LOCAL_FOUND:
    return found == handle ? CS_RING_REQUEST_LOOKUP_WORKS : CS_RING_REQUEST_LOOKUP_REFUSED;
  case CS_TASK_LOCAL_ABSENT:
    break;
  }
  return CS_RING_REQUEST_LOOKUP_REFUSED;
}

void cs_shim_request_check(uint64_t key, cs_shim_request handle) {
  cs_ring *ring = cs_started_ring();
  if (ring == NULL || handle == 0) return;
  if (__atomic_load_n(&cs_requests_here.key, __ATOMIC_RELAXED) != key) {
    __atomic_store_n(&cs_requests_here.key, key, __ATOMIC_RELAXED);
  }
  uint32_t lookup = __atomic_load_n(&cs_requests_here.lookup, __ATOMIC_RELAXED);
  if (lookup == CS_RING_REQUEST_LOOKUP_UNCHECKED) {
    lookup = lookup_of(key, handle);
    __atomic_store_n(&cs_requests_here.lookup, lookup, __ATOMIC_RELAXED);
  }
  // A forked child has a new ring, which does not contain the result yet.
  if (__atomic_load_n(&ring->header.request_lookup, __ATOMIC_RELAXED) != lookup) {
    __atomic_store_n(&ring->header.request_lookup, lookup, __ATOMIC_RELAXED);
  }
}

cs_ring_request_lookup cs_shim_request_lookup(void) {
  return (cs_ring_request_lookup)__atomic_load_n(&cs_requests_here.lookup, __ATOMIC_RELAXED);
}

#endif
