// Two implementations of CRC-32C. cs_ring_crc32c() chooses between them.
#ifndef CS_CRC32C_H
#define CS_CRC32C_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cs_signal_safe.h"

uint32_t cs_crc32c_software(uint32_t crc, const void *bytes, size_t size) SIGNAL_SAFE;

bool cs_crc32c_hardware_is_present(void) SIGNAL_SAFE;
uint32_t cs_crc32c_hardware(uint32_t crc, const void *bytes, size_t size) SIGNAL_SAFE;

#endif
