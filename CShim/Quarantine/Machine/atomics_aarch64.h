// Atomic operations whose instructions differ between architectures, and memory barriers.
#ifndef CS_ATOMICS_AARCH64_H
#define CS_ATOMICS_AARCH64_H
#if defined(__aarch64__)

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

// Increments the counter, and then executes a full barrier, so that earlier stores become visible before later loads.
// The increment alone is not a full barrier, even with the strongest ordering.
static inline void cs_count_and_fence(uint64_t *counter) {
  __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
  atomic_thread_fence(memory_order_seq_cst);
}

// Makes earlier stores of this thread visible before its later stores.
static inline void cs_store_fence(void) {
  __asm__ volatile("dmb ishst" : : : "memory");
}

// relaxed: the comparison decides only whether the slow path runs. The data of a slot is read after the slot was locked
// (cs_slot_enter), which orders the reads.
static inline bool cs_is_below(uintptr_t value, const _Atomic uintptr_t *end) {
  return value < atomic_load_explicit(end, memory_order_relaxed);
}

// relaxed: only a use-after-free on another thread can change the reference counts of an object in quarantine, and such
// an access has no ordering anyway.
static inline bool cs_word_is(const uint64_t *word, uint64_t value) {
  return __atomic_load_n(word, __ATOMIC_RELAXED) == value;
}

// relaxed: the barrier of cs_count_and_fence() precedes this load and orders it.
static inline bool cs_is_one(const _Atomic uint32_t *word) {
  return atomic_load_explicit(word, memory_order_relaxed) == 1;
}

// A hint to the processor: this thread waits for another thread in a loop.
static inline void cs_pause(void) {
  __asm__ volatile("yield");
}

#endif
#endif
