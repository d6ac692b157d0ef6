// Builds a line of text in a buffer of fixed size. What does not fit is cut.
#ifndef CS_TEXT_H
#define CS_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "cs_signal_safe.h"

typedef struct cs_text {
  char *bytes;
  size_t count;
  size_t limit;
} cs_text;

// Adds a string that ends with a zero byte.
void cs_text_put(cs_text *text, const char *string) SIGNAL_SAFE;
void cs_text_put_decimal(cs_text *text, int64_t number) SIGNAL_SAFE;
void cs_text_put_hex(cs_text *text, uint64_t number) SIGNAL_SAFE;

// Adds at most `size` bytes of untrusted text up to a zero byte. A run of white space and control characters becomes
// one space, and a double quote or a backslash an apostrophe, so that the line stays one line, also in JSON. An invalid
// sequence of UTF-8, a C1 control character, a line separator, and a control character of bidirectional text become a
// question mark. A character that does not fit, or is cut at the end, is left out.
void cs_text_put_clean(cs_text *text, const void *bytes, size_t size) SIGNAL_SAFE;

#endif
