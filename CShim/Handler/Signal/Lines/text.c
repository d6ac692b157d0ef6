#include "cs_platform.h"

#if CS_SUPPORTED

#include "text.h"

#include <stdbool.h>

#define NUMBER_LIMIT 24

static const char digits[] = "0123456789abcdef";

// Element n is the lowest code point whose UTF-8 encoding needs n bytes.
static const uint32_t first_of_size[] = {0, 0, 0x80, 0x800, 0x10000};

static void put_byte(cs_text *text, char byte) SIGNAL_SAFE {
  if (text->count < text->limit) text->bytes[text->count++] = byte;
}

void cs_text_put(cs_text *text, const char *string) SIGNAL_SAFE {
  for (; *string != 0; string++)
    put_byte(text, *string);
}

static void put_number(cs_text *text, uint64_t number, uint64_t base) SIGNAL_SAFE {
  char reversed[NUMBER_LIMIT];
  size_t count = 0;
  do {
    reversed[count++] = digits[number % base];
    number /= base;
  } while (number != 0 && count < sizeof reversed);
  while (count > 0)
    put_byte(text, reversed[--count]);
}

void cs_text_put_decimal(cs_text *text, int64_t number) SIGNAL_SAFE {
  if (number < 0) put_byte(text, '-');
  put_number(text, number < 0 ? -(uint64_t)number : (uint64_t)number, 10);
}

void cs_text_put_hex(cs_text *text, uint64_t number) SIGNAL_SAFE {
  cs_text_put(text, "0x");
  put_number(text, number, 16);
}

// Decodes the UTF-8 character at `from`, and returns its size in bytes. Returns 0 if the bytes are not a valid
// character.
static size_t decode(const uint8_t *from, size_t size, uint32_t *ret_character) SIGNAL_SAFE {
  const uint8_t lead = from[0];
  *ret_character = lead;
  if (lead < 0x80) return 1;
  const size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || bytes > size) return 0;
  uint32_t character = lead & (0x7fu >> bytes);
  for (size_t index = 1; index < bytes; index++) {
    if ((from[index] & 0xc0) != 0x80) return 0;
    character = character << 6 | (from[index] & 0x3f);
  }
  *ret_character = character;
  const bool is_surrogate = character >= 0xd800 && character <= 0xdfff;
  return character < first_of_size[bytes] || character > 0x10ffff || is_surrogate ? 0 : bytes;
}

// Returns the size of an invalid sequence: a byte and the continuation bytes after it.
static size_t invalid_bytes(const uint8_t *from, size_t size) SIGNAL_SAFE {
  size_t bytes = 1;
  while (bytes < size && (from[bytes] & 0xc0) == 0x80)
    bytes++;
  return bytes;
}

// Returns whether a terminal or a log viewer can interpret the character as a command: a C1 control character, a line
// separator, or a control character of bidirectional text.
static bool is_command(uint32_t character) SIGNAL_SAFE {
  return (character >= 0x80 && character <= 0x9f) || character == 0x2028 || character == 0x2029 ||
         (character >= 0x202a && character <= 0x202e) || (character >= 0x2066 && character <= 0x2069);
}

void cs_text_put_clean(cs_text *text, const void *bytes, size_t size) SIGNAL_SAFE {
  const uint8_t *from = bytes;
  const size_t start = text->count;
  bool is_space = true; // white space at the start is left out
  size_t next = 0;
  for (size_t index = 0; index < size && from[index] != 0; index = next) {
    uint32_t character = 0;
    const size_t valid = decode(from + index, size - index, &character);
    const bool is_valid = valid > 0 && !is_command(character);
    next = index + (valid > 0 ? valid : invalid_bytes(from + index, size - index));
    if (valid == 0 && next == size) break; // the string was cut inside its last character
    const size_t shown = is_valid ? valid : 1;
    if (text->count + shown > text->limit) break;
    const bool was_space = is_space;
    is_space = character <= ' ' || character == 0x7f;
    if (is_space && was_space) continue;
    for (size_t at = 0; at < shown; at++)
      text->bytes[text->count + at] = (char)(is_valid ? from[index + at] : (uint8_t)'?');
    if (is_space) text->bytes[text->count] = ' ';
    if (character == '"' || character == '\\') text->bytes[text->count] = '\'';
    text->count += shown;
  }
  while (text->count > start && text->bytes[text->count - 1] == ' ')
    text->count--;
}

#endif
