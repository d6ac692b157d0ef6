// Converts the hexadecimal digits of trace and span IDs, eight at a time. A 64-bit word serves as a vector of eight
// bytes.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <string.h>

#include "../setup.h"

#define EACH(byte)    (UINT64_C(0x0101010101010101) * (byte))
#define DIGITS_A_STEP 8
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first digit is in the low byte of a word");

// Converts eight hexadecimal digits to four bytes. Returns false if `digits` contains another character. The sums do
// not carry into the next byte, because all bytes are below 0x80.
static bool convert(uint64_t digits, uint32_t *ret_bytes) {
  const uint64_t small = digits | EACH(0x20);
  const uint64_t is_decimal = (digits + EACH(0x80 - '0')) & ~(digits + EACH(0x7f - '9')) & EACH(0x80);
  const uint64_t is_letter = (small + EACH(0x80 - 'a')) & ~(small + EACH(0x7f - 'f')) & EACH(0x80);
  if ((digits & EACH(0x80)) != 0 || (is_decimal | is_letter) != EACH(0x80)) return false;
  // The low four bits of a decimal digit are its value. Those of 'a' are 1, so 9 is added for letters.
  const uint64_t values = (digits & EACH(0x0f)) + (is_letter >> 7) * 9;
  const uint64_t halves = (values << 4 | values >> 8) & UINT64_C(0x00ff00ff00ff00ff);
  const uint64_t quarters = (halves | halves >> 8) & UINT64_C(0x0000ffff0000ffff);
  *ret_bytes = (uint32_t)(quarters | quarters >> 16);
  return true;
}

void cs_hex_digits_put(uint8_t *to, size_t size, cs_shim_text text) {
  if (text.bytes != 2 * size) return;
  for (size_t at = 0; at < text.bytes; at += DIGITS_A_STEP) {
    uint64_t digits = 0;
    uint32_t bytes = 0;
    memcpy(&digits, text.start + at, sizeof digits);
    if (!convert(digits, &bytes)) {
      memset(to, 0, size);
      return;
    }
    memcpy(to + at / 2, &bytes, sizeof bytes);
  }
}

#endif
