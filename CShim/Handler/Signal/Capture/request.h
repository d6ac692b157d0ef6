// Finds the request of a crashing thread (Shield.withRequest, docs/decisions/0136).
#ifndef CS_REQUEST_H
#define CS_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "cs_ring.h"
#include "cs_signal_safe.h"

// Each request in flight has a handle and, unless the table was full, an entry in the ring's table of requests. The
// handle contains the index of the entry in its low bits, and the generation of the entry (how often it was claimed) in
// the bits above them. The handle 0 means that there is no request.
#define CS_REQUEST_INDEX_BITS 12
_Static_assert(1 << CS_REQUEST_INDEX_BITS == CS_RING_REQUEST_LIMIT, "each index fits into a handle");

// The handle of a request without an entry, because the table was full, has this bit. The generation of an entry never
// becomes so large.
#define CS_REQUEST_OVERFLOWED (UINT64_C(1) << 63)

static inline bool cs_request_has_entry(uint64_t handle) SIGNAL_SAFE {
  return handle != 0 && (handle & CS_REQUEST_OVERFLOWED) == 0;
}

static inline uint32_t cs_request_index(uint64_t handle) SIGNAL_SAFE {
  return (uint32_t)(handle & (CS_RING_REQUEST_LIMIT - 1));
}

// Returns the state that the entry has while the request of this handle runs.
static inline uint64_t cs_request_running(uint64_t handle) SIGNAL_SAFE {
  return handle >> CS_REQUEST_INDEX_BITS << 8 | CS_RING_REQUEST_RUNNING;
}

// Returns the state that the entry has after a trap in the request.
static inline uint64_t cs_request_trapped(uint64_t handle) SIGNAL_SAFE {
  return handle >> CS_REQUEST_INDEX_BITS << 8 | CS_RING_REQUEST_TRAPPED;
}

#define CS_REQUEST_WORD_BITS  64
#define CS_REQUEST_WORD_COUNT (CS_RING_REQUEST_LIMIT / CS_REQUEST_WORD_BITS)

// One bit for each entry: whether it is used. Each word has its own cache line, and threads begin their search for a
// free entry at different words, so that they rarely compete for a cache line.
typedef struct cs_request_word {
  _Alignas(64) uint64_t used; // atomic
} cs_request_word;

extern cs_request_word cs_request_words[CS_REQUEST_WORD_COUNT];

// Where the handler finds the handle of a thread's or a task's request. Each field is atomic.
typedef struct cs_request_places {
  uint64_t key;    // the address of the task-local's object; 0: no request has begun
  int64_t offset;  // from the thread pointer to the handle of a request in synchronous code; 0: no such request has run
  uint32_t lookup; // cs_ring_request_lookup
} cs_request_places;

extern cs_request_places cs_requests_here;

// Returns the handle that Shield.withRequest has set for synchronous code on this thread, or 0.
uint64_t cs_request_of_thread(void) SIGNAL_SAFE;

// Copies the entry of a handle. Returns false if the request of the handle has ended.
bool cs_request_copy(const cs_ring *ring, uint64_t handle, cs_ring_request *ret_request) SIGNAL_SAFE;

// Copies the request of the calling thread into the thread's slot. Precondition: the slot does not contain a request.
void cs_record_request(cs_ring_slot *slot) SIGNAL_SAFE;

#endif
