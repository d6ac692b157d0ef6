// Publishes data of other components in the ring: the protected classes, and the last self-test of the guards.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "../setup.h"

#include "../../Signal/Dispatch/trusted.h"

cs_ring_class *cs_shim_class(const cs_ring_class *class) {
  cs_ring *const ring = cs_shim_is_started() ? cs_started_ring() : NULL;
  if (ring == NULL || class->name_bytes > CS_RING_SUBJECT_LIMIT_BYTES) return NULL;
  // Precondition: only one thread at a time calls this function. crashd reads the new entry only after the count
  // includes it.
  const uint32_t index = ring->header.class_count;
  __atomic_fetch_add(&ring->header.class_total, 1, __ATOMIC_RELAXED);
  if (index >= CS_RING_CLASS_LIMIT) return NULL;
  ring->classes[index] = *class;
  // release: pairs with cs_ring_class_count_acquire() in crashd.
  __atomic_store_n(&ring->header.class_count, index + 1, __ATOMIC_RELEASE);
  return &ring->classes[index];
}

void cs_shim_self_test(uint64_t asked, uint64_t failing, uint32_t checks, uint32_t failures) {
  cs_ring *ring = cs_started_ring();
  if (ring == NULL) return;
  cs_ring_self_test *test = &ring->header.self_test;
  uint64_t sequence = __atomic_load_n(&test->sequence, __ATOMIC_RELAXED);
  // If another thread is writing its own result, this thread returns without waiting. Both self-tests ended at about
  // the same time, so the result of the other thread is as recent as the skipped result.
  if (sequence % 2 != 0 || !__atomic_compare_exchange_n(&test->sequence, &sequence, sequence + 1, false,
                                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
    return;
  }
  __atomic_thread_fence(__ATOMIC_RELEASE); // Ordering: the odd number becomes visible before the writes below.
  test->time_ns = cs_clock_ns(CLOCK_REALTIME);
  test->asked = asked;
  test->failing = failing;
  test->checks = checks;
  test->failures = failures;
  // release: pairs with cs_ring_self_test_sequence_acquire() in crashd.
  __atomic_store_n(&test->sequence, sequence + 2, __ATOMIC_RELEASE);
}

#endif
