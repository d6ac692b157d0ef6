#include "cs_platform.h"

#if CS_SUPPORTED

#include "pieces.h"

#include "../Dispatch/trusted.h"

// The size of the field for the number of words, which is a varint. The encoder reserves the field and fills it after
// it has encoded the words. A varint can have leading zeros, so a small number can also take the whole field.
#define COUNT_BYTES 3
#define COUNT_LIMIT (1u << 7 * COUNT_BYTES)

// The encoder looks for words that equal earlier ones at two kinds of distances: one word, for runs of zeros, and one
// to sixteen frames of three words, for recursion.
#define FRAME_WORDS 3
#define CYCLE_LIMIT 16

cs_pieces cs_pieces_begin(uint8_t *bytes, size_t head_bytes, size_t limit) SIGNAL_SAFE {
  return (cs_pieces){.bytes = bytes, .limit = limit, .state = {.count = head_bytes, .next_base = 1}};
}

static uint64_t zigzag(uint64_t value) SIGNAL_SAFE {
  return value << 1 ^ (value >> 63 != 0 ? UINT64_MAX : 0);
}

static bool put(cs_pieces *pieces, uint64_t byte) SIGNAL_SAFE {
  if (pieces->state.count >= pieces->limit) return false;
  pieces->bytes[pieces->state.count++] = (uint8_t)byte;
  return true;
}

static bool put_varint(cs_pieces *pieces, uint64_t value) SIGNAL_SAFE {
  for (; value >= 0x80; value >>= 7) {
    if (!put(pieces, (value & 0x7f) | 0x80)) return false;
  }
  return put(pieces, value);
}

static uint32_t varint_bytes(uint64_t value) SIGNAL_SAFE {
  uint32_t count = 1;
  for (; value >= 0x80; value >>= 7)
    count++;
  return count;
}

static uint64_t place_of(const cs_pieces *pieces, uint64_t offset, unsigned kind) SIGNAL_SAFE {
  return zigzag(offset - pieces->state.end) << 1 | kind;
}

static uint32_t bytes_of(uint64_t value) SIGNAL_SAFE {
  return value == 0 ? 0 : (71 - (uint32_t)__builtin_clzll(value)) / 8;
}

// A word is encoded as its difference from a base, an earlier word. Returns the base for which this difference has the
// fewest bytes.
static uint32_t nearest_base(const cs_piece_state *state, uint64_t word, uint32_t *ret_bytes) SIGNAL_SAFE {
  uint32_t best = 0;
  *ret_bytes = bytes_of(zigzag(word));
  for (uint32_t base = 1; base < CS_RECORD_LINE_BASE_COUNT; base++) {
    const uint32_t bytes = bytes_of(zigzag(word - state->bases[base]));
    // If the word is far from all bases, it is encoded relative to base 0, whose value is 0, and becomes a new base,
    // because other words near it probably follow.
    if (bytes >= *ret_bytes || bytes >= CS_RECORD_LINE_BASE_MINIMUM_BYTES) continue;
    *ret_bytes = bytes;
    best = base;
  }
  return best;
}

static void note_word(cs_piece_state *state, uint32_t base, uint32_t bytes, uint64_t word) SIGNAL_SAFE {
  if (base != 0) {
    state->bases[base] = word;
  } else if (bytes >= CS_RECORD_LINE_BASE_MINIMUM_BYTES) {
    state->bases[state->next_base] = word;
    state->next_base = state->next_base % (CS_RECORD_LINE_BASE_COUNT - 1) + 1;
  }
}

static bool put_literal(cs_pieces *pieces, uint64_t word) SIGNAL_SAFE {
  uint32_t bytes = 0;
  const uint32_t base = nearest_base(&pieces->state, word, &bytes);
  uint64_t value = zigzag(word - (base == 0 ? 0 : pieces->state.bases[base]));
  if (!put(pieces, base << CS_RECORD_LINE_BASE_SHIFT | bytes)) return false;
  for (uint32_t index = 0; index < bytes; index++, value >>= 8) {
    if (!put(pieces, value & 0xff)) return false;
  }
  note_word(&pieces->state, base, bytes, word);
  return true;
}

// The words are not always aligned, so each word is copied with memcpy().
static uint64_t word_at(const uint8_t *words, uint32_t index) SIGNAL_SAFE {
  uint64_t word = 0;
  memcpy(&word, words + (size_t)index * sizeof word, sizeof word);
  return word;
}

static uint32_t equal_words(const uint8_t *words, uint32_t index, uint32_t distance, uint32_t count) SIGNAL_SAFE {
  uint32_t length = 0;
  if (distance > index) return 0;
  while (index + length < count && word_at(words, index + length) == word_at(words, index + length - distance))
    length++;
  return length;
}

// Searches for earlier words that equal the words at `index`. Returns the length of the longest repeat, and stores its
// distance.
static uint32_t find_repeat(const uint8_t *words, uint32_t index, uint32_t count, uint32_t *ret_distance) SIGNAL_SAFE {
  *ret_distance = 1;
  uint32_t longest = equal_words(words, index, 1, count);
  for (uint32_t cycle = 1; cycle <= CYCLE_LIMIT; cycle++) {
    const uint32_t length = equal_words(words, index, cycle * FRAME_WORDS, count);
    if (length <= longest) continue;
    longest = length;
    *ret_distance = cycle * FRAME_WORDS;
  }
  return longest;
}

// Encodes one literal word or one repeat at `index`, and returns the number of encoded words. Returns 0 if the encoding
// does not fit.
static uint32_t put_some(cs_pieces *pieces, const uint8_t *words, uint32_t index, uint32_t count) SIGNAL_SAFE {
  uint32_t distance = 0, literal_bytes = 0;
  const uint64_t word = word_at(words, index);
  const uint32_t length = find_repeat(words, index, count, &distance);
  nearest_base(&pieces->state, word, &literal_bytes);
  if (length == 0 || (length == 1 && literal_bytes < 2)) return put_literal(pieces, word) ? 1 : 0;
  if (!put(pieces, CS_RECORD_LINE_REPEAT | (distance - 1)) || !put_varint(pieces, length)) return 0;
  return length;
}

static void put_count(uint8_t *bytes, uint32_t count) SIGNAL_SAFE {
  for (uint32_t index = 0; index < COUNT_BYTES; index++, count >>= 7)
    bytes[index] = (uint8_t)((count & 0x7f) | (index + 1 < COUNT_BYTES ? 0x80 : 0));
}

uint32_t cs_pieces_put_words(cs_pieces *pieces, uint64_t offset, const void *words, uint32_t count,
                             uint32_t step) SIGNAL_SAFE {
  const cs_piece_state before = pieces->state;
  if (count == 0 || count >= COUNT_LIMIT) return 0;
  bool fits = put_varint(pieces, place_of(pieces, offset, CS_RECORD_LINE_KIND_WORDS));
  const size_t count_place = pieces->state.count;
  for (uint32_t index = 0; fits && index < COUNT_BYTES; index++)
    fits = put(pieces, 0);

  cs_piece_state whole = pieces->state; // the state after the last complete step, that is, a multiple of `step` words
  uint32_t done = 0, whole_count = 0;
  uint32_t repeated = 0; // if complete steps end inside the repeat after `whole`: the number of its words that belong
                         // to them; else 0
  while (fits && done < count) {
    const cs_piece_state start = pieces->state;
    const uint32_t some = put_some(pieces, words, done, count);
    if (some == 0) break;
    const uint32_t first = done;
    done += some;
    const uint32_t end = done == count ? done : done - done % step;
    if (end <= whole_count) continue;
    whole = end == done ? pieces->state : start;
    repeated = end == done ? 0 : end - first;
    whole_count = end;
  }
  if (whole_count == 0) {
    pieces->state = before;
    return 0;
  }
  pieces->state = whole;
  if (repeated > 0) {
    pieces->state.count++; // keeps the control byte; the reduced length needs no more bytes
    put_varint(pieces, repeated);
  }
  put_count(&pieces->bytes[count_place], whole_count);
  pieces->state.end = offset + whole_count * sizeof(uint64_t);
  return whole_count;
}

uint32_t cs_pieces_room(const cs_pieces *pieces, uint64_t offset) SIGNAL_SAFE {
  const size_t left = pieces->limit > pieces->state.count ? pieces->limit - pieces->state.count : 0;
  const size_t head = varint_bytes(place_of(pieces, offset, CS_RECORD_LINE_KIND_BYTES)) + varint_bytes(pieces->limit);
  return left > head ? (uint32_t)(left - head) : 0;
}

uint32_t cs_pieces_put_bytes(cs_pieces *pieces, uint64_t offset, const void *bytes, uint32_t count) SIGNAL_SAFE {
  const uint32_t room = cs_pieces_room(pieces, offset);
  const uint32_t size = count < room ? count : room;
  if (size == 0) return 0;
  // cs_pieces_room() left space for both varints.
  put_varint(pieces, place_of(pieces, offset, CS_RECORD_LINE_KIND_BYTES));
  put_varint(pieces, size);
  memcpy(&pieces->bytes[pieces->state.count], bytes, size);
  pieces->state.count += size;
  pieces->state.end = offset + size;
  return size;
}

#endif
