// Reads the processor's counter as the clock, because this takes only one instruction. All processors of the machine
// have the same counter. The kernel reads the same counter for CLOCK_MONOTONIC. The counter's frequency is fixed and,
// depending on the machine, 24 MHz to 1 GHz, so two last releases of objects can have the same ticks. The record number
// (slot.h) distinguishes them.
#ifndef CS_CLOCK_AARCH64_H
#define CS_CLOCK_AARCH64_H
#if defined(__aarch64__)

#include <stdint.h>

#include "cs_signal_safe.h"

#define CS_NS_A_SECOND UINT64_C(1000000000)

static inline uint64_t cs_ticks(void) {
  uint64_t ticks;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
}

static inline void cs_ticks_put(uint64_t *ret_ticks) {
  *ret_ticks = cs_ticks();
}

static inline void cs_ticks_start(void) {}

static inline uint64_t cs_ticks_ns(uint64_t ticks) SIGNAL_SAFE {
  uint64_t frequency;
  __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(frequency));
  if (frequency == 0 || (int64_t)ticks < 0) return 0;
  return ticks / frequency * CS_NS_A_SECOND + ticks % frequency * CS_NS_A_SECOND / frequency;
}

#endif
#endif
