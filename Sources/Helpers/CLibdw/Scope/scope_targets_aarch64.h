// Finds the targets of AArch64 code.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t cs_aarch64_word(const uint8_t *code, size_t index) {
  uint32_t word;
  memcpy(&word, code + index * sizeof word, sizeof word);
  return word;
}

/// Returns a field of an instruction as a signed number.
static inline int64_t cs_aarch64_signed(uint32_t word, unsigned low, unsigned count) {
  return (int64_t)((uint64_t)word << (64 - low - count)) >> (64 - count);
}

/// Returns the address that the `adrp` at `at` and a later instruction compute, or 0 if no such instruction follows.
/// The later instruction adds an offset within the page to the register of the `adrp`.
static inline uint64_t cs_aarch64_address(const uint8_t *code, size_t count, size_t at, uint64_t page) {
  enum { REACH = 8 }; // the compiler can place other instructions between the two instructions
  const uint32_t target = cs_aarch64_word(code, at) & 31;
  for (size_t i = at + 1; i < count && i <= at + REACH; i++) {
    const uint32_t word = cs_aarch64_word(code, i);
    const bool is_of_register = (word >> 5 & 31) == target;
    const uint64_t offset = word >> 10 & 0xfff;
    if (is_of_register && (word & 0xffc00000) == 0x91000000) return page + offset;     // add xD, xN, #offset
    if (is_of_register && (word & 0xffc00000) == 0xf9400000) return page + offset * 8; // ldr xD, [xN, #offset]
    // Another `adrp` to the same register ends the search.
    if ((word & 0x9f000000) == 0x90000000 && (word & 31) == target) break;
  }
  return 0;
}

/// Finds the target of every `bl` or `b`, of every `adr`, and of every `adrp` with the `add` or `ldr` that follows.
/// Returns the number of targets, which is at most `limit`.
static inline size_t cs_code_targets_aarch64(const uint8_t *code, size_t bytes, uint64_t address, uint64_t *ret_targets,
                                             size_t limit) {
  const size_t count = bytes / sizeof(uint32_t);
  size_t found = 0;
  for (size_t i = 0; i < count && found < limit; i++) {
    const uint32_t word = cs_aarch64_word(code, i);
    const uint64_t pc = address + i * sizeof word;
    uint64_t target = 0;
    if ((word & 0x7c000000) == 0x14000000) {
      target = pc + (uint64_t)cs_aarch64_signed(word, 0, 26) * 4;
    } else if ((word & 0x1f000000) == 0x10000000) {
      const uint64_t distance = (uint64_t)cs_aarch64_signed(word, 5, 19) << 2 | (word >> 29 & 3);
      target =
          word >> 31 ? cs_aarch64_address(code, count, i, (pc & ~UINT64_C(0xfff)) + (distance << 12)) : pc + distance;
    }
    if (target != 0) ret_targets[found++] = target;
  }
  return found;
}

/// Returns SIZE of the last pair `mov w1, #SIZE` and `mov w2, #ALIGNMENT MASK`, or 0 if the code does not contain such
/// a pair. The last pair belongs to the deallocation of the object, as on x86-64.
static inline uint32_t cs_code_deallocated_aarch64(const uint8_t *code, size_t bytes) {
  const size_t count = bytes / sizeof(uint32_t);
  uint32_t found = 0;
  for (size_t i = 0; i + 2 <= count; i++) {
    const uint32_t size = cs_aarch64_word(code, i);
    const uint32_t mask = cs_aarch64_word(code, i + 1);
    // The instruction is `movz` with a 16-bit immediate and no shift.
    if ((size & 0xffe0001f) != 0x52800001 || (mask & 0xffe0001f) != 0x52800002) continue;
    const uint32_t alignment = mask >> 5 & 0xffff;
    if (alignment == 7 || alignment == 15) found = size >> 5 & 0xffff;
  }
  return found;
}
