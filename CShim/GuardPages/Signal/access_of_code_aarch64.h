// Decodes whether an instruction of AArch64 stores to memory. This file compiles on every architecture, so its test can
// run on every machine.
#ifndef CS_ACCESS_OF_CODE_AARCH64_H
#define CS_ACCESS_OF_CODE_AARCH64_H

#include <stdbool.h>
#include <stdint.h>

#include "cs_signal_safe.h"

// Returns whether the instruction is a store. An atomic instruction that loads and stores counts as a load, because the
// processor's syndrome also reports its fault at an unreadable page as a load. Source: Arm Architecture Reference
// Manual, "Loads and Stores".
static inline bool cs_access_code_writes(uint32_t code) SIGNAL_SAFE {
  if ((code & UINT32_C(0x0a000000)) != UINT32_C(0x08000000)) return false; // not of the group "Loads and Stores"
  const uint32_t form = code >> 27 & 7;
  const bool is_vector = (code >> 26 & 1) != 0, has_load_bit = (code >> 22 & 1) != 0;
  const uint32_t operation = code >> 22 & 3;
  switch (form) {
  case 1: // exclusive and ordered accesses; if bit 26 is set, loads and stores of several vectors (ld1, st1)
    // Bit 21 is set in compare-and-swap (cas, casp) and in exclusive pairs (ldxp, stxp). In exclusive pairs, bit 31 is
    // set and bit 23 is not set.
    if (!is_vector && (code >> 21 & 1) != 0 && ((code >> 23 & 1) != 0 || code >> 31 == 0)) return false;
    return !has_load_bit;
  case 3: // loads relative to the pc, and ldapur and stlur
    return (code & UINT32_C(0x3f200c00)) == UINT32_C(0x19000000) && operation == 0;
  case 5: // pairs (ldp, stp)
    return !has_load_bit;
  case 7: // single registers
    // If bit 21 is set, the value 2 of bits 10 and 11 means an offset in a register. The other values are atomic
    // operations (ldadd, swp), ldapr and ldraa.
    if ((code >> 24 & 1) == 0 && (code >> 21 & 1) != 0 && (code >> 10 & 3) != 2) return false;
    return operation == 0 || (is_vector && code >> 30 == 0 && operation == 2);
  default:
    return false;
  }
}

#endif
