#include "cs_platform.h"

#if CS_SUPPORTED

#include "deliver.h"

#include "../Capture/request.h"
#include "../Dispatch/state.h"
#include "../Kernel/system_call.h"
#include "cs_ring_access.h"

// The maximum number of system calls for one write. More than one can be needed, because each call can write only a
// part of the bytes.
#define WRITE_TRIES 64

// The state that a request's entry gets in the file if the entry's state changed during the copy.
static const uint64_t torn_state = CS_RING_REQUEST_CLAIMED;

bool cs_spool_put(int file, const void *bytes, size_t size, uint64_t offset) SIGNAL_SAFE {
  size_t done = 0;
  for (int attempt = 0; attempt < WRITE_TRIES && done < size; attempt++) {
    const long count = cs_pwrite(file, (const uint8_t *)bytes + done, size - done, offset + done);
    if (count == -EINTR) continue;
    if (count <= 0) return false;
    done += (size_t)count;
  }
  return done == size;
}

// Writes a part of the ring to the same offset in the file.
static bool write_piece(int file, const void *piece, size_t size) SIGNAL_SAFE {
  return cs_spool_put(file, piece, size, (uint64_t)((const uint8_t *)piece - (const uint8_t *)cs_process.ring));
}

// Writes annotations, breadcrumbs, incidents and classes.
static bool write_texts(int file) SIGNAL_SAFE {
  const cs_ring *ring = cs_process.ring;
  const uint64_t head = cs_ring_counter(&ring->header.breadcrumb_head);
  const size_t breadcrumbs = head < CS_RING_BREADCRUMB_LIMIT ? head : CS_RING_BREADCRUMB_LIMIT;
  const size_t classes = cs_ring_classes(ring);
  if (!write_piece(file, ring->annotations, sizeof ring->annotations)) return false;
  if (!write_piece(file, ring->breadcrumbs, breadcrumbs * sizeof(cs_ring_breadcrumb))) return false;
  if (!write_piece(file, ring->classes, classes * sizeof(cs_ring_class))) return false;
  for (uint32_t index = 0; index < CS_RING_INCIDENT_LIMIT; index++) {
    const cs_ring_incident *incident = &ring->incidents[index];
    if (cs_ring_counter(&incident->key) == 0) continue;
    if (!write_piece(file, incident, sizeof *incident)) return false;
  }
  return true;
}

static bool write_slots(int file) SIGNAL_SAFE {
  for (uint32_t index = 0; index < CS_RING_SLOT_LIMIT; index++) {
    const cs_ring_slot *slot = &cs_process.ring->slots[index];
    const uint64_t state = cs_ring_slot_state_acquire(slot) & CS_RING_STATE_MASK;
    if (state == CS_RING_STATE_FREE) continue;
    const bool is_whole = state != CS_RING_STATE_WRITING;
    const size_t stack_bytes = is_whole ? cs_at_most(slot->record.stack_bytes, sizeof slot->stack) : 0;
    if (!write_piece(file, slot, offsetof(cs_ring_slot, stack) + stack_bytes)) return false;
  }
  return true;
}

static bool write_request(int file, uint32_t index) SIGNAL_SAFE {
  const cs_ring_request *request = &cs_process.ring->requests[index];
  const uint64_t state = cs_ring_request_state_acquire(request);
  const uint64_t step = state & CS_RING_REQUEST_MASK;
  if (step == CS_RING_REQUEST_FREE || step == CS_RING_REQUEST_CLAIMED) return true;
  if (!write_piece(file, request, sizeof *request)) return false;
  if (cs_ring_request_state_recheck(request) == state) return true;
  const uint64_t offset = offsetof(cs_ring, requests) + index * sizeof *request + offsetof(cs_ring_request, state);
  return cs_spool_put(file, &torn_state, sizeof torn_state, offset);
}

// Writes the requests in flight. Entries that are not in use are not read: their pages can be holes of the ring's file,
// and reading a hole allocates memory.
static bool write_requests(int file) SIGNAL_SAFE {
  for (uint32_t word = 0; word < CS_REQUEST_WORD_COUNT; word++) {
    // Each iteration clears a bit of the copy.
    for (uint64_t used = __atomic_load_n(&cs_request_words[word].used, __ATOMIC_RELAXED); used != 0; used &= used - 1) {
      if (!write_request(file, word * CS_REQUEST_WORD_BITS + (uint32_t)__builtin_ctzll(used))) return false;
    }
  }
  return true;
}

// Unused parts of the ring become holes of the file.
bool cs_spool_put_ring(int file) SIGNAL_SAFE {
  const cs_ring *ring = cs_process.ring;
  const size_t images = cs_image_count(ring);
  if (!write_piece(file, ring, offsetof(cs_ring, images) + images * sizeof(cs_ring_image))) return false;
  if (!write_texts(file) || !write_slots(file)) return false;
  const size_t threads = cs_thread_count(ring);
  if (!write_piece(file, ring->threads, threads * sizeof(cs_ring_thread))) return false;
  return write_requests(file) && cs_ftruncate(file, sizeof *ring) == 0;
}

#endif
