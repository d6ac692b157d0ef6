// The data that the quarantine stores for each thread.
#ifndef CS_QUARANTINE_THREAD_H
#define CS_QUARANTINE_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

typedef struct cs_thread {
  uint32_t number; // the kernel's thread ID; 0: the structure is not filled yet
  uint64_t random;
  struct cs_memos *memos; // a cache of recent stacks (memos.h); NULL: none
  // The unwind follows frame pointers only within these bounds, which are those of the thread's stack.
  uintptr_t stack_start, stack_end;
} cs_thread;
extern __thread cs_thread cs_this_thread __attribute__((tls_model("initial-exec")));
void cs_thread_learn(void) __attribute__((cold));
static inline cs_thread *cs_thread_known(void) {
  if (__builtin_expect(cs_this_thread.number == 0, false)) cs_thread_learn();
  return &cs_this_thread;
}
// Returns a random number of Wang Yi's generator wyrand. Precondition: cs_thread_known() was called on this thread.
static inline uint64_t cs_thread_random(void) {
  const uint64_t state = cs_this_thread.random += UINT64_C(0xA0761D6478BD642F);
  const __uint128_t product = (__uint128_t)state * (state ^ UINT64_C(0xE7037ED1A0B428DB));
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

#pragma GCC visibility pop

#endif
