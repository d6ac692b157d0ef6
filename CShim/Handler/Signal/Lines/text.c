#include "cs_platform.h"

#if CS_SUPPORTED

#include "text.h"

#include <stdbool.h>

#define NUMBER_LIMIT 24

static const char digits[] = "0123456789abcdef";

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

// Removes the first bytes of a UTF-8 character whose other bytes are missing at the end.
static void drop_cut_character(cs_text *text, size_t start) SIGNAL_SAFE {
  size_t lead = text->count;
  while (lead > start && ((uint8_t)text->bytes[lead - 1] & 0xc0) == 0x80)
    lead--;
  if (lead == start) return;
  const uint8_t byte = (uint8_t)text->bytes[--lead];
  const size_t whole = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
  if (text->count - lead < whole) text->count = lead;
}

void cs_text_put_clean(cs_text *text, const void *bytes, size_t size) SIGNAL_SAFE {
  const uint8_t *from = bytes;
  const size_t start = text->count;
  bool is_space = true; // white space at the start is left out
  for (size_t index = 0; index < size && from[index] != 0 && text->count < text->limit; index++) {
    const uint8_t byte = from[index];
    const bool was_space = is_space;
    is_space = byte <= ' ' || byte == 0x7f;
    if (is_space && was_space) continue;
    put_byte(text, is_space ? ' ' : byte == '"' || byte == '\\' ? '\'' : (char)byte);
  }
  drop_cut_character(text, start);
  while (text->count > start && text->bytes[text->count - 1] == ' ')
    text->count--;
}

#endif
