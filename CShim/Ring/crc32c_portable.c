// The portable part of CRC-32C: without a crc32 instruction, the checksum is computed with the table.
#include "cs_platform.h"

#if !defined(__x86_64__) && !(CS_SUPPORTED && defined(__aarch64__))
#include "crc32c.h"

bool cs_crc32c_hardware_is_present(void) SIGNAL_SAFE {
  return false;
}

uint32_t cs_crc32c_hardware(uint32_t crc, const void *bytes, size_t size) SIGNAL_SAFE {
  return cs_crc32c_software(crc, bytes, size);
}
#endif
