// Atomic operations in assembly, for which compilers generate more instructions than necessary, and memory barriers.
// For example, an atomic load and a comparison of its value need only one instruction.
#ifndef CS_ATOMICS_X86_64_H
#define CS_ATOMICS_X86_64_H
#if defined(__x86_64__)

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <x86intrin.h>

// Increments the counter. The instruction is also a full barrier: because of its lock prefix, earlier stores become
// visible before later loads.
static inline void cs_count_and_fence(uint64_t *counter) {
  __asm__ volatile("lock incq %0" : "+m"(*counter) : : "memory", "cc");
}

// Makes earlier stores of this thread visible before its later stores. The processor executes stores in their order, so
// this fence only keeps the compiler from reordering them.
static inline void cs_store_fence(void) {
  atomic_signal_fence(memory_order_seq_cst);
}

static inline bool cs_is_below(uintptr_t value, const _Atomic uintptr_t *end) {
  bool result;
  __asm__ volatile("cmpq %[end], %[value]" : "=@ccb"(result) : [value] "r"(value), [end] "m"(*end));
  return result;
}

static inline bool cs_word_is(const uint64_t *word, uint64_t value) {
  bool result;
  __asm__ volatile("cmpq %[value], %[word]" : "=@cce"(result) : [value] "r"(value), [word] "m"(*word) : "memory");
  return result;
}

static inline bool cs_is_one(const _Atomic uint32_t *word) {
  bool result;
  __asm__ volatile("cmpl $1, %[word]" : "=@cce"(result) : [word] "m"(*word));
  return result;
}

// A hint to the processor: this thread waits for another thread in a loop.
static inline void cs_pause(void) {
  _mm_pause();
}

#endif
#endif
