#include "memory.h"
#include <string.h>

#define AARCH64_ADDRESS_MASK ((UINT64_C(1) << 48) - 1)

const struct cs_snapshot_image *cs_snapshot_image_at(const struct cs_snapshot *snapshot, uint64_t address) {
  size_t low = 0;
  size_t high = snapshot->image_count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const struct cs_snapshot_image *image = &snapshot->images[middle];
    if (address < image->start)
      high = middle;
    else if (address >= image->end)
      low = middle + 1;
    else
      return image;
  }
  return NULL;
}

/// Copies the bytes at `address` that the memory range contains, and returns their number, at most 8. Addresses are
/// untrusted. The unsigned subtraction wraps around for an address before the range, which gives a large offset.
static unsigned copy(const struct cs_snapshot_piece *piece, uint64_t address, uint8_t word[8]) {
  unsigned copied = 0;
  for (unsigned i = 0; i < 8; i++) {
    const uint64_t offset = address + i - piece->address; // a very large number if the byte precedes the piece
    if (offset >= piece->count) continue;
    word[i] = piece->bytes[offset];
    copied++;
  }
  return copied;
}

bool cs_snapshot_read_stack(const struct cs_snapshot *snapshot, uint64_t address, uint64_t *ret_word) {
  uint8_t word[8] = {0};
  if (copy(&snapshot->stack, address, word) != 8) return false;
  memcpy(ret_word, word, sizeof word);
  return true;
}

uint64_t cs_snapshot_code(const struct cs_snapshot *snapshot, uint64_t word) {
  const uint64_t plain = word & AARCH64_ADDRESS_MASK;
  if (snapshot->architecture != CS_SNAPSHOT_AARCH64 || plain == word) return word;
  // Check the byte before the address, because a return address can be the first byte after an image.
  return cs_snapshot_image_at(snapshot, plain - 1) ? plain : word;
}

bool cs_snapshot_read_word(const struct cs_snapshot *snapshot, uint64_t address, uint64_t *ret_word) {
  if (cs_snapshot_read_stack(snapshot, address, ret_word)) {
    *ret_word = cs_snapshot_code(snapshot, *ret_word);
    return true;
  }
  const struct cs_snapshot_image *image = cs_snapshot_image_at(snapshot, address);
  // The word can begin before the image that contains its last bytes, because libunwind reads aligned words.
  if (!image) image = cs_snapshot_image_at(snapshot, address + 7);
  if (!image) return false;
  uint8_t word[8] = {0};
  // Bytes of the image outside its two unwind tables read as 0. libunwind reads such bytes when it searches for the
  // address of a personality routine or the code of a signal return. Unwinding does not depend on the values of these
  // bytes, but libunwind would interpret an unreadable word as the end of the stack.
  (void)copy(&image->header, address, word);
  (void)copy(&image->frames, address, word);
  memcpy(ret_word, word, sizeof word);
  return true;
}
