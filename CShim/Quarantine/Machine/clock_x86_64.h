// Reads the processor's time-stamp counter as the clock, because this takes only one instruction (rdtsc). The tick rate
// is measured over the time since the first class was listed: since then, its objects go to the quarantine.
#ifndef CS_CLOCK_X86_64_H
#define CS_CLOCK_X86_64_H
#if defined(__x86_64__)

#include <stdint.h>
#include <x86intrin.h>

#include "cs_signal_safe.h"

static inline uint64_t cs_ticks(void) {
  return __rdtsc();
}

// Stores the ticks as two halves, because the instruction returns them in two registers.
static inline void cs_ticks_put(uint64_t *ret_ticks) {
  __asm__ volatile("rdtsc\n\tmovl %%eax, %[low]\n\tmovl %%edx, %[high]"
                   : [low] "=m"(((uint32_t *)ret_ticks)[0]), [high] "=m"(((uint32_t *)ret_ticks)[1])
                   :
                   : "eax", "edx", "memory");
}

#pragma GCC visibility push(hidden)

void cs_ticks_start(void);
uint64_t cs_ticks_ns(uint64_t ticks) SIGNAL_SAFE;

#pragma GCC visibility pop

#endif
#endif
