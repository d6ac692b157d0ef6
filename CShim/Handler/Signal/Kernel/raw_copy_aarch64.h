// Copies memory without sanitizer checks. The handler reads stacks and other memory that a sanitizer would report as
// invalid.
#ifndef CS_RAW_COPY_AARCH64_H
#define CS_RAW_COPY_AARCH64_H
#if defined(__aarch64__)

#include <stddef.h>
#include <stdint.h>

#include "cs_signal_safe.h"

static inline uint64_t cs_raw_word(uint64_t from) SIGNAL_SAFE {
  uint64_t word;
  __asm__ volatile("ldr %0, [%1]" : "=r"(word) : "r"(from) : "memory");
  return word;
}

static inline uint8_t cs_raw_byte(uint64_t from) SIGNAL_SAFE {
  uint32_t byte;
  __asm__ volatile("ldrb %w0, [%1]" : "=r"(byte) : "r"(from) : "memory");
  return (uint8_t)byte;
}

// Copies 16 bytes at a time, because a stack of 64 KiB is copied at each crash.
static inline void cs_raw_copy(void *to, uint64_t from, size_t size) SIGNAL_SAFE {
  uint64_t low, high;
  __asm__ volatile("1: subs %[size], %[size], #16\n"
                   "b.lo 2f\n"
                   "ldp %[low], %[high], [%[from]], #16\n"
                   "stp %[low], %[high], [%[to]], #16\n"
                   "b 1b\n"
                   "2: adds %[size], %[size], #16\n"
                   "b.eq 4f\n"
                   "3: ldrb %w[low], [%[from]], #1\n"
                   "strb %w[low], [%[to]], #1\n"
                   "subs %[size], %[size], #1\n"
                   "b.ne 3b\n"
                   "4:\n"
                   : [to] "+r"(to), [from] "+r"(from), [size] "+r"(size), [low] "=&r"(low), [high] "=&r"(high)
                   :
                   : "memory", "cc");
}

#endif
#endif
