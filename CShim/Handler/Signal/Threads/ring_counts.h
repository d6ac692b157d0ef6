// Counts of the ring. It is the program's memory like any other: whatever was written over a count, there are no more
// than so many.
#ifndef CS_RING_COUNTS_H
#define CS_RING_COUNTS_H

#include "cs_ring_access.h"

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
