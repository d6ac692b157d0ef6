// Finds the targets of x86-64 code.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/// Finds the target of every `call` or `jmp`, and of every `lea` or `mov` relative to rip. The function tries to decode
/// an instruction at each byte, so some targets are false. False targets do little harm, because a symbol at a false
/// target is rare. Returns the number of targets, which is at most `limit`.
static inline size_t cs_code_targets(const uint8_t *code, size_t count, uint64_t address, uint64_t *ret_targets,
                                     size_t limit) {
  size_t found = 0;
  for (size_t i = 0; i + 5 <= count && found < limit; i++) {
    const int is_branch = code[i] == 0xe8 || code[i] == 0xe9;
    // The pattern is `lea` or `mov` with a REX.W prefix and a ModRM byte for rip plus a displacement.
    const int is_address = i + 7 <= count && (code[i] & 0xf8) == 0x48 && (code[i + 1] == 0x8d || code[i + 1] == 0x8b) &&
                           (code[i + 2] & 0xc7) == 0x05;
    if (!is_branch && !is_address) continue;
    const size_t at = i + (is_branch ? 1 : 3);
    int32_t distance;
    memcpy(&distance, code + at, sizeof distance);
    ret_targets[found++] = address + at + sizeof distance + (uint64_t)(int64_t)distance;
  }
  return found;
}

/// Returns SIZE of the last pair `mov esi, SIZE` and `mov edx, ALIGNMENT MASK`, or 0 if the code does not contain such
/// a pair.
///
/// The last pair belongs to the deallocation of the object. Allocations use the same instructions, but in a
/// deallocating deinit every allocation precedes the deallocation.
static inline uint32_t cs_code_deallocated(const uint8_t *code, size_t count) {
  uint32_t found = 0;
  for (size_t i = 0; i + 10 <= count; i++) {
    uint32_t size, mask;
    if (code[i] != 0xbe || code[i + 5] != 0xba) continue;
    memcpy(&size, code + i + 1, sizeof size);
    memcpy(&mask, code + i + 6, sizeof mask);
    if (mask == 7 || mask == 15) found = size;
  }
  return found;
}
