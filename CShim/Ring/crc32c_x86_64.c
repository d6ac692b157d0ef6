// Uses the crc32 instruction of SSE 4.2.
#if defined(__x86_64__)
#include <cpuid.h>

#include "crc32c.h"

// Executes the instruction cpuid itself, because __builtin_cpu_supports() reads a table that a constructor fills, and
// this function can run before that constructor.
bool cs_crc32c_hardware_is_present(void) SIGNAL_SAFE {
  unsigned eax = 1, ebx = 0, ecx = 0, edx = 0;
  __cpuid(1, eax, ebx, ecx, edx);
  return (ecx & bit_SSE4_2) != 0;
}

__attribute__((target("sse4.2"))) uint32_t cs_crc32c_hardware(uint32_t crc, const void *bytes,
                                                              size_t size) SIGNAL_SAFE {
  const uint8_t *at = bytes;
  uint64_t remainder = (uint32_t)~crc;
  for (; size >= sizeof(uint64_t); at += sizeof(uint64_t), size -= sizeof(uint64_t)) {
    uint64_t word;
    __builtin_memcpy(&word, at, sizeof word);
    remainder = __builtin_ia32_crc32di(remainder, word);
  }
  uint32_t narrow = (uint32_t)remainder;
  for (; size > 0; at++, size--)
    narrow = __builtin_ia32_crc32qi(narrow, *at);
  return ~narrow;
}
#endif
