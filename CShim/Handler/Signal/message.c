#include "message.h"

#include "record.h"

#include "raw_copy_x86_64.h"
#include "state.h"

// The Swift runtime appends all it ever reported to a text that only grows; so far the end is looked for.
#define TEXT_SEARCH_LIMIT_BYTES 65536

// So often for a trap that the process survives: what of its words is not told now would be the next one's.
#define TOLD_SEARCH_ROUNDS 64

// Exchanges that fail because another thread tells of its trap.
#define TOLD_TRIES 100

// Of it, what was said of traps that the process has survived.
static size_t told_bytes; // atomic

// Copies the end of `size` bytes of text, at most `limit`, from a character's first byte on.
static uint32_t copy_end(uint8_t *to, uint64_t text, size_t size, size_t limit) SIGNAL_SAFE {
  uint64_t at = text;
  if (size > limit) {
    at += size - limit;
    for (int index = 0; index < 3 && (cs_raw_byte(at) & 0xc0) == 0x80; index++)
      at++;
  }
  return (uint32_t)cs_memory_copy(to, at, size - (size_t)(at - text));
}

static uint32_t copy_tail(uint8_t *to, uint64_t text, size_t limit) SIGNAL_SAFE {
  return copy_end(to, text, cs_memory_text_bytes(text, TEXT_SEARCH_LIMIT_BYTES), limit);
}

// What the Swift runtime has said that is not told; where it was quiet, `ret_size` is 0. Of two threads that trap at
// once one may find what both said, and the other nothing.
static uint64_t untold(int rounds, size_t *ret_size, size_t *ret_end) SIGNAL_SAFE {
  cs_memory memory = {0};
  uint64_t text = 0;
  size_t size = 0;
  *ret_size = *ret_end = 0;
  if (cs_process.swift_message == 0) return 0;
  // acquire: pairs with cs_message_is_told(). Before the text: one that is read later is no shorter.
  const size_t told = __atomic_load_n(&told_bytes, __ATOMIC_ACQUIRE);
  if (!cs_memory_read_word(&memory, cs_process.swift_message, &text) || text == 0) return 0;
  if (told > 0 && cs_memory_text_bytes(text + told - 1, 1) == 0) return 0;
  // Only from there on: all that was ever said may be more than is looked at.
  for (int round = 0; round < rounds; round++) {
    const size_t more = cs_memory_text_bytes(text + told + size, TEXT_SEARCH_LIMIT_BYTES);
    size += more;
    if (more < TEXT_SEARCH_LIMIT_BYTES) break;
  }
  *ret_size = size;
  *ret_end = told + size;
  return text + told;
}

uint32_t cs_message_untold(uint8_t *ret_text, size_t limit, size_t *ret_end) SIGNAL_SAFE {
  size_t size = 0;
  const uint64_t text = untold(TOLD_SEARCH_ROUNDS, &size, ret_end);
  return size == 0 ? 0 : copy_end(ret_text, text, size, limit);
}

void cs_message_is_told(size_t end) SIGNAL_SAFE {
  size_t told = __atomic_load_n(&told_bytes, __ATOMIC_RELAXED);
  for (int attempt = 0; attempt < TOLD_TRIES && told < end; attempt++) {
    // release: pairs with untold().
    if (__atomic_compare_exchange_n(&told_bytes, &told, end, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) return;
  }
}

void cs_record_messages(cs_ring_record *record) SIGNAL_SAFE {
  cs_memory memory = {0};
  uint64_t text = 0;
  size_t size = 0;
  size_t end = 0;
  const uint64_t said = untold(1, &size, &end);
  if (size != 0) record->message_bytes = copy_end(record->message, said, size, sizeof record->message);

  const bool has_abort =
      cs_process.abort_message != 0 && cs_memory_read_word(&memory, cs_process.abort_message, &text) && text != 0;
  if (has_abort) {
    record->abort_bytes = copy_tail(record->abort_message, text + sizeof(unsigned), sizeof record->abort_message);
  }
}
