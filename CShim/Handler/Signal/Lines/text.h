// Builds a line of text in a buffer of fixed size. Text that does not fit is cut.
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

// Adds untrusted text: at most `size` bytes, and only up to the first zero byte. Replaces characters, so that the
// result is one line and needs no escapes in JSON: a run of white space and control characters by one space; a double
// quote or a backslash by an apostrophe; an invalid UTF-8 sequence, a C1 control character, a line separator or a
// control character of bidirectional text by a question mark. A character that does not fit, or that is cut at the end
// of the text, is omitted.
void cs_text_put_clean(cs_text *text, const void *bytes, size_t size) SIGNAL_SAFE;

#endif
