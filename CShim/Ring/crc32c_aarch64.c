// Uses the crc32c instructions of AArch64, which are optional before Armv8.1.
#include "cs_platform.h"

#if CS_SUPPORTED && defined(__aarch64__)
#include <sys/auxv.h>

#include "crc32c.h"

// Signal safety: getauxval() reads memory that the loader filled, and takes no lock.
extern unsigned long getauxval(unsigned long type) SIGNAL_SAFE;

#define HAS_CRC32 (UINT64_C(1) << 7) // HWCAP_CRC32

bool cs_crc32c_hardware_is_present(void) SIGNAL_SAFE {
  return (getauxval(AT_HWCAP) & HAS_CRC32) != 0;
}

__attribute__((target("crc"))) uint32_t cs_crc32c_hardware(uint32_t crc, const void *bytes, size_t size) SIGNAL_SAFE {
  const uint8_t *at = bytes;
  uint32_t remainder = ~crc;
#pragma clang loop unroll_count(8)
  for (; size >= sizeof(uint64_t); at += sizeof(uint64_t), size -= sizeof(uint64_t)) {
    uint64_t word;
    __builtin_memcpy(&word, at, sizeof word);
    remainder = __builtin_arm_crc32cd(remainder, word);
  }
  for (; size > 0; at++, size--)
    remainder = __builtin_arm_crc32cb(remainder, *at);
  return ~remainder;
}
#endif
