// The cheapest clock: one instruction.
#ifndef CS_TICKS_X86_64_H
#define CS_TICKS_X86_64_H

#include <stdint.h>
#include <x86intrin.h>

static inline uint64_t cs_ticks(void) {
  return __rdtsc();
}

#endif
