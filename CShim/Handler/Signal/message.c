#include "record.h"

#include "raw_copy_x86_64.h"
#include "state.h"

// The Swift runtime appends all it ever reported; so far the end is looked for.
#define TEXT_SEARCH_LIMIT_BYTES 65536

// Copies the end of a text of at most `limit` bytes, from a character's first byte on.
static uint32_t copy_tail(uint8_t *to, uint64_t text, size_t limit) SIGNAL_SAFE {
  const size_t size = cs_memory_text_bytes(text, TEXT_SEARCH_LIMIT_BYTES);
  uint64_t at = text;
  if (size > limit) {
    at += size - limit;
    for (int index = 0; index < 3 && (cs_raw_byte(at) & 0xc0) == 0x80; index++)
      at++;
  }
  return (uint32_t)cs_memory_copy(to, at, size - (size_t)(at - text));
}

void cs_record_messages(cs_ring_record *record) SIGNAL_SAFE {
  cs_memory memory = {0};
  uint64_t text = 0;
  const bool has_swift =
      cs_process.swift_message != 0 && cs_memory_read_word(&memory, cs_process.swift_message, &text) && text != 0;
  if (has_swift) record->message_bytes = copy_tail(record->message, text, sizeof record->message);

  const bool has_abort =
      cs_process.abort_message != 0 && cs_memory_read_word(&memory, cs_process.abort_message, &text) && text != 0;
  if (has_abort) {
    record->abort_bytes = copy_tail(record->abort_message, text + sizeof(unsigned), sizeof record->abort_message);
  }
}
