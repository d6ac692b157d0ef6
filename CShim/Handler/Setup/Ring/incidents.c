// The classes that the shield's own parts watch, where crashd reads of them.
#include "../setup.h"

cs_ring_class *cs_shim_class(const cs_ring_class *class) {
  cs_ring *const ring = cs_shim_is_started() ? cs_started_ring() : NULL;
  if (ring == NULL || class->name_bytes > CS_RING_SUBJECT_LIMIT_BYTES) return NULL;
  // One caller at a time; crashd takes the entry when it is whole.
  const uint32_t index = ring->header.class_count;
  __atomic_fetch_add(&ring->header.class_total, 1, __ATOMIC_RELAXED);
  if (index >= CS_RING_CLASS_LIMIT) return NULL;
  ring->classes[index] = *class;
  // release: pairs with cs_ring_class_count_acquire().
  __atomic_store_n(&ring->header.class_count, index + 1, __ATOMIC_RELEASE);
  return &ring->classes[index];
}
