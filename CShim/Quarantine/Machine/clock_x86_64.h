// The cheapest clock: one instruction.
#ifndef CS_TICKS_X86_64_H
#define CS_TICKS_X86_64_H

#include <stdint.h>
#include <x86intrin.h>

static inline uint64_t cs_ticks(void) {
  return __rdtsc();
}

// The same to memory, in the halves that the clock is read in.
static inline void cs_ticks_put(uint64_t *ret_ticks) {
  __asm__ volatile("rdtsc\n\tmovl %%eax, %[low]\n\tmovl %%edx, %[high]"
                   : [low] "=m"(((uint32_t *)ret_ticks)[0]), [high] "=m"(((uint32_t *)ret_ticks)[1])
                   :
                   : "eax", "edx", "memory");
}

#endif
