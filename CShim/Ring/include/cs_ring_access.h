// Atomic accesses to the fields of the ring that the process and crashd both use, and the ring's checksum. The fields
// are plain integers, because Swift does not import `_Atomic` fields.
#ifndef CS_RING_ACCESS_H
#define CS_RING_ACCESS_H

#include <string.h>

#include "cs_ring.h"

// Returns the CRC-32C (Castagnoli, RFC 3720 B.4) of `size` bytes. `crc` is the CRC of the bytes before them, or 0.
uint32_t cs_ring_crc32c(uint32_t crc, const void *bytes, size_t size) SIGNAL_SAFE;

static inline uint64_t cs_ring_generation(uint64_t state) SIGNAL_SAFE {
  return state >> 2;
}

// acquire: pairs with the release store in crasher.c of the handler.
static inline uint64_t cs_ring_slot_state_acquire(const cs_ring_slot *slot) SIGNAL_SAFE {
  return __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
}

// Reads the state of a slot again, after the caller has copied the slot. The fence orders the copy before this second
// read, as in the reader of a sequence lock.
static inline uint64_t cs_ring_slot_state_recheck(const cs_ring_slot *slot) SIGNAL_SAFE {
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  return __atomic_load_n(&slot->state, __ATOMIC_RELAXED);
}

// acquire: pairs with the release store of the sweep, which follows the initialization of a thread's entry.
static inline uint32_t cs_ring_thread_count_acquire(const cs_ring_header *header) SIGNAL_SAFE {
  return __atomic_load_n(&header->thread_count, __ATOMIC_ACQUIRE);
}

// acquire: pairs with the release store that commits a thread's record.
static inline uint64_t cs_ring_thread_state_acquire(const cs_ring_thread *thread) SIGNAL_SAFE {
  return __atomic_load_n(&thread->state, __ATOMIC_ACQUIRE);
}

// Reads the state of a thread's entry again after the copy, like cs_ring_slot_state_recheck().
static inline uint64_t cs_ring_thread_state_recheck(const cs_ring_thread *thread) SIGNAL_SAFE {
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  return __atomic_load_n(&thread->state, __ATOMIC_RELAXED);
}

// acquire: pairs with the release store that commits a request.
static inline uint64_t cs_ring_request_state_acquire(const cs_ring_request *request) SIGNAL_SAFE {
  return __atomic_load_n(&request->state, __ATOMIC_ACQUIRE);
}

// Reads the state again after the copy of the entry. The caller compares it with the state before the copy.
static inline uint64_t cs_ring_request_state_recheck(const cs_ring_request *request) SIGNAL_SAFE {
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  return __atomic_load_n(&request->state, __ATOMIC_RELAXED);
}

// acquire: pairs with the release store after an image entry was filled.
static inline uint32_t cs_ring_image_count_acquire(const cs_ring_header *header) SIGNAL_SAFE {
  return __atomic_load_n(&header->image_count, __ATOMIC_ACQUIRE);
}

// acquire: pairs with the release store that ends the write of an annotation.
static inline uint32_t cs_ring_annotation_sequence_acquire(const cs_ring_annotation *annotation) SIGNAL_SAFE {
  return __atomic_load_n(&annotation->sequence, __ATOMIC_ACQUIRE);
}

static inline uint32_t cs_ring_annotation_sequence_recheck(const cs_ring_annotation *annotation) SIGNAL_SAFE {
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  return __atomic_load_n(&annotation->sequence, __ATOMIC_RELAXED);
}

// acquire: pairs with the release store that ends the write of a breadcrumb.
static inline uint64_t cs_ring_breadcrumb_sequence_acquire(const cs_ring_breadcrumb *breadcrumb) SIGNAL_SAFE {
  return __atomic_load_n(&breadcrumb->sequence, __ATOMIC_ACQUIRE);
}

static inline uint64_t cs_ring_breadcrumb_sequence_recheck(const cs_ring_breadcrumb *breadcrumb) SIGNAL_SAFE {
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  return __atomic_load_n(&breadcrumb->sequence, __ATOMIC_RELAXED);
}

// acquire: pairs with the release store that ends the write of a self-test.
static inline uint64_t cs_ring_self_test_sequence_acquire(const cs_ring_self_test *test) SIGNAL_SAFE {
  return __atomic_load_n(&test->sequence, __ATOMIC_ACQUIRE);
}

static inline uint64_t cs_ring_self_test_sequence_recheck(const cs_ring_self_test *test) SIGNAL_SAFE {
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  return __atomic_load_n(&test->sequence, __ATOMIC_RELAXED);
}

// acquire: pairs with the release store after the fields of an incident were filled.
static inline uint64_t cs_ring_incident_sequence_acquire(const cs_ring_incident *incident) SIGNAL_SAFE {
  return __atomic_load_n(&incident->sequence, __ATOMIC_ACQUIRE);
}

// acquire: pairs with the release store after a class was added.
static inline uint32_t cs_ring_class_count_acquire(const cs_ring_header *header) SIGNAL_SAFE {
  return __atomic_load_n(&header->class_count, __ATOMIC_ACQUIRE);
}

// Copies bytes of the ring to private memory, for readers. The fence keeps the compiler from reading the shared bytes a
// second time in place of the copy, so that a reader uses exactly the bytes that it has checked.
static inline void cs_ring_copy(void *ret_bytes, const void *shared, size_t size) {
  memcpy(ret_bytes, shared, size);
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
}

// For readers: removes the program's memory from a private copy of a header or a slot. The removed parts are the stack,
// the memory near addresses in registers, and the bytes at the pc if the pc is not in code. The CRC of an undamaged
// slot is computed again. That of a damaged slot stays wrong. The identity of the process, the signal, the frames and
// the registers stay in the copy.
void cs_ring_header_withhold(cs_ring_header *header);
void cs_ring_slot_withhold(cs_ring_slot *slot);

// Reads a counter that only grows, without memory ordering.
static inline uint64_t cs_ring_counter(const uint64_t *counter) SIGNAL_SAFE {
  return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

// Limits a count that was read from the ring to the size of its table. The limit is necessary because the program can
// write to the ring and can have overwritten the count.
static inline uint32_t cs_at_most(uint32_t count, uint32_t limit) SIGNAL_SAFE {
  return count < limit ? count : limit;
}

static inline uint32_t cs_image_count(const cs_ring *ring) SIGNAL_SAFE {
  return cs_at_most(cs_ring_image_count_acquire(&ring->header), CS_RING_IMAGE_LIMIT);
}

static inline uint32_t cs_ring_classes(const cs_ring *ring) SIGNAL_SAFE {
  return cs_at_most(cs_ring_class_count_acquire(&ring->header), CS_RING_CLASS_LIMIT);
}

static inline uint32_t cs_thread_count(const cs_ring *ring) SIGNAL_SAFE {
  return cs_at_most(cs_ring_thread_count_acquire(&ring->header), CS_RING_THREAD_LIMIT);
}

#endif
