// What a self-test of the guards found, where crashd can read it.
#include "../setup.h"

#include "../../Signal/Dispatch/trusted.h"

void cs_shim_self_test(uint64_t asked, uint64_t failing, uint32_t checks, uint32_t failures) {
  cs_ring *ring = cs_started_ring();
  if (ring == NULL) return;
  cs_ring_self_test *test = &ring->header.self_test;
  uint64_t sequence = __atomic_load_n(&test->sequence, __ATOMIC_RELAXED);
  // Nobody waits: another one that is being written ended at this very moment, too.
  if (sequence % 2 != 0 || !__atomic_compare_exchange_n(&test->sequence, &sequence, sequence + 1, false,
                                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
    return;
  }
  __atomic_thread_fence(__ATOMIC_RELEASE); // the odd number is seen before any of what follows
  test->time_ns = cs_clock_ns(CLOCK_REALTIME);
  test->asked = asked;
  test->failing = failing;
  test->checks = checks;
  test->failures = failures;
  // release: pairs with cs_ring_self_test_sequence_acquire().
  __atomic_store_n(&test->sequence, sequence + 2, __ATOMIC_RELEASE);
}
