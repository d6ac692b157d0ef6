// Copies memory without sanitizer checks. The handler reads stacks and other memory that a sanitizer would report as
// invalid.
#ifndef CS_RAW_COPY_X86_64_H
#define CS_RAW_COPY_X86_64_H
#if defined(__x86_64__)

#include <stddef.h>
#include <stdint.h>

#include "cs_signal_safe.h"

static inline void cs_raw_copy(void *to, uint64_t from, size_t size) SIGNAL_SAFE {
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

static inline uint64_t cs_raw_word(uint64_t from) SIGNAL_SAFE {
  uint64_t word;
  __asm__ volatile("movq (%1), %0" : "=r"(word) : "r"(from) : "memory");
  return word;
}

static inline uint8_t cs_raw_byte(uint64_t from) SIGNAL_SAFE {
  uint8_t byte;
  __asm__ volatile("movb (%1), %0" : "=q"(byte) : "r"(from) : "memory");
  return byte;
}

#endif
#endif
