#include "cs_platform.h"

#if CS_SUPPORTED

#include "record.h"

#include "../Dispatch/state.h"
#include "../Kernel/raw_copy.h"

// The Swift runtime appends all its error messages to one string. The handler searches for the end of this string in at
// most 64 pieces of this size.
#define TEXT_SEARCH_LIMIT_BYTES 65536
#define TEXT_SEARCH_ROUNDS      64

// The maximum number of attempts to store `recorded` with a compare-and-exchange. An attempt fails if another thread
// records the message of its trap at the same time.
#define RECORDED_TRIES 100

// An offset in the runtime's string. The messages before it belong to contained traps, which did not end the process.
// Records of later crashes omit them.
static size_t recorded_bytes; // atomic

// Swift 6.2 appends no further messages after the first one. For each later message, it makes a new string of this mark
// and the message. It never frees such a string, so the string's address shows whether its message is already recorded.
static const uint8_t replaced_mark[] = {'(', 'n', 'u', 'l', 'l', ')'};
static uint64_t recorded_string; // atomic: the last string that a thread read and found current

// The mark for omitted characters: a horizontal ellipsis.
static const uint8_t cut_mark[] = {0xe2, 0x80, 0xa6};

// The mark in the first line of the runtime's messages for fatalError(), preconditions and failed checks.
static const uint8_t report_mark[] = {'F', 'a', 't', 'a', 'l', ' ', 'e', 'r', 'r', 'o', 'r'};

static bool is_inside_character(uint64_t at) SIGNAL_SAFE {
  return (cs_raw_byte(at) & 0xc0) == 0x80;
}

// Copies the last `limit` bytes of a string of `size` bytes. Starts at the first byte of a UTF-8 character.
static uint32_t copy_end(uint8_t *to, uint64_t text, size_t size, size_t limit) SIGNAL_SAFE {
  uint64_t at = text;
  if (size > limit) {
    at += size - limit;
    for (int index = 0; index < 3 && is_inside_character(at); index++)
      at++;
  }
  return (uint32_t)cs_memory_copy(to, at, size - (size_t)(at - text));
}

// Copies the beginning of a string. If the string does not fit, ends at a whole character and appends a mark.
static uint32_t copy_begin(uint8_t *to, uint64_t text, size_t size, size_t limit) SIGNAL_SAFE {
  if (size <= limit) return (uint32_t)cs_memory_copy(to, text, size);
  size_t kept = limit - sizeof cut_mark;
  for (int index = 0; index < 3 && kept > 0 && is_inside_character(text + kept); index++)
    kept--;
  kept = cs_memory_copy(to, text, kept);
  memcpy(to + kept, cut_mark, sizeof cut_mark);
  return (uint32_t)(kept + sizeof cut_mark);
}

static bool is_report_mark(uint64_t at, size_t size) SIGNAL_SAFE {
  if (size < sizeof report_mark) return false;
  for (size_t index = 0; index < sizeof report_mark; index++) {
    if (cs_raw_byte(at + index) != report_mark[index]) return false;
  }
  return true;
}

// Returns the offset of the last message. It starts at the last line with `report_mark`, and can continue over several
// lines. If no line has the mark, returns the last line.
static size_t last_report(uint64_t text, size_t size) SIGNAL_SAFE {
  size_t line = 0;
  size_t report = size;
  for (size_t index = 0; index < size; index++) {
    if (is_report_mark(text + index, size - index)) report = line;
    if (cs_raw_byte(text + index) == '\n' && index + 1 < size) line = index + 1;
  }
  return report < size ? report : line;
}

// Copies the last message and as many of the bytes before it as fit. If the message itself is too long, copies its
// beginning.
static uint32_t copy_report(uint8_t *to, uint64_t text, size_t size, size_t limit) SIGNAL_SAFE {
  if (size <= limit) return copy_end(to, text, size, limit);
  const size_t report = last_report(text, size);
  if (size - report <= limit) return copy_end(to, text, size, limit);
  return copy_begin(to, text + report, size - report, limit);
}

// Returns the part of a string in which to search for the last message: its last TEXT_SEARCH_LIMIT_BYTES bytes, from
// the first byte of a character. The limit shortens the search, because another thread can replace the string and free
// its memory during the search. If the last message is longer than the limit, its beginning is lost.
static uint64_t last_part(uint64_t text, size_t *size) SIGNAL_SAFE {
  if (*size <= TEXT_SEARCH_LIMIT_BYTES) return text;
  text += *size - TEXT_SEARCH_LIMIT_BYTES;
  *size = TEXT_SEARCH_LIMIT_BYTES;
  for (int index = 0; index < 3 && is_inside_character(text); index++) {
    text++;
    *size -= 1;
  }
  return text;
}

static bool is_replaced(uint64_t text) SIGNAL_SAFE {
  if (cs_memory_text_bytes(text, sizeof replaced_mark) < sizeof replaced_mark) return false;
  for (size_t index = 0; index < sizeof replaced_mark; index++) {
    if (cs_raw_byte(text + index) != replaced_mark[index]) return false;
  }
  return true;
}

// Returns the part of the Swift runtime's string that no record contains yet. Sets `ret_size` to 0 if there is no new
// part. If two threads trap at the same time, one thread can find both messages and the other one none. With Swift 6.2,
// the message of the first trap is lost, and one of the threads finds the message of the second trap.
static uint64_t unrecorded(size_t *ret_size, cs_message_end *ret_end) SIGNAL_SAFE {
  cs_memory memory = {0};
  uint64_t text = 0;
  size_t size = 0;
  *ret_size = 0;
  *ret_end = (cs_message_end){0};
  if (cs_process.swift_message == 0) return 0;
  // acquire: pairs with the release operation of cs_message_mark_recorded(). The number of recorded bytes is read
  // before the address of the string: a string that is read afterwards is at least that long.
  size_t recorded = __atomic_load_n(&recorded_bytes, __ATOMIC_ACQUIRE);
  if (!cs_memory_read_word(&memory, cs_process.swift_message, &text) || text == 0) return 0;
  if (is_replaced(text)) {
    if (text == __atomic_load_n(&recorded_string, __ATOMIC_RELAXED)) return 0;
    recorded = sizeof replaced_mark;
  }
  if (recorded > 0 && cs_memory_text_bytes(text + recorded - 1, 1) == 0) return 0;
  // Measures only the part after the offset `recorded`: the whole string can be longer than the search allows.
  for (int round = 0; round < TEXT_SEARCH_ROUNDS; round++) {
    const size_t more = cs_memory_text_bytes(text + recorded + size, TEXT_SEARCH_LIMIT_BYTES);
    size += more;
    if (more < TEXT_SEARCH_LIMIT_BYTES) break;
  }
  *ret_size = size;
  *ret_end = (cs_message_end){text, recorded + size};
  return text + recorded;
}

uint32_t cs_message_read(uint8_t *ret_text, size_t limit, cs_message_end *ret_end) SIGNAL_SAFE {
  size_t size = 0;
  const uint64_t text = unrecorded(&size, ret_end);
  return size == 0 ? 0 : copy_report(ret_text, text, size, limit);
}

// Marks the string as recorded, unless the runtime has replaced it meanwhile: a replaced string never becomes current
// again and needs no mark. If another thread marks a newer string at the same time, the exchange fails, and the next
// attempt finds that newer string.
static void mark_string(uint64_t string) SIGNAL_SAFE {
  cs_memory memory = {0};
  uint64_t current = 0;
  // acquire: pairs with the exchange below, so that the string that is read next is at least as new as the marked one.
  uint64_t marked = __atomic_load_n(&recorded_string, __ATOMIC_ACQUIRE);
  for (int attempt = 0; attempt < RECORDED_TRIES; attempt++) {
    if (!cs_memory_read_word(&memory, cs_process.swift_message, &current) || current != string) return;
    if (__atomic_compare_exchange_n(&recorded_string, &marked, string, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      return;
  }
}

void cs_message_mark_recorded(cs_message_end end) SIGNAL_SAFE {
  if (end.string == 0) return;
  mark_string(end.string);
  size_t recorded = __atomic_load_n(&recorded_bytes, __ATOMIC_RELAXED);
  for (int attempt = 0; attempt < RECORDED_TRIES && recorded < end.offset; attempt++) {
    // release: pairs with the acquire load of unrecorded().
    if (__atomic_compare_exchange_n(&recorded_bytes, &recorded, end.offset, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
      return;
  }
}

void cs_record_messages(cs_ring_record *record) SIGNAL_SAFE {
  cs_memory memory = {0};
  uint64_t text = 0;
  size_t size = 0;
  cs_message_end end;
  uint64_t said = unrecorded(&size, &end);
  if (size != 0) said = last_part(said, &size);
  if (size != 0) record->message_bytes = copy_report(record->message, said, size, sizeof record->message);

  const bool has_abort =
      cs_process.abort_message != 0 && cs_memory_read_word(&memory, cs_process.abort_message, &text) && text != 0;
  if (has_abort) {
    text += sizeof(unsigned);
    size = cs_memory_text_bytes(text, TEXT_SEARCH_LIMIT_BYTES);
    record->abort_bytes = copy_begin(record->abort_message, text, size, sizeof record->abort_message);
  }
}

#endif
