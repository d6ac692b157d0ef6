// Encodes parts of the ring for the record line, a crash record as one line of text. A piece is a range of the ring
// with its offset. cs_record_line.h defines the encoding.
#ifndef CS_PIECES_H
#define CS_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cs_record_line.h"
#include "cs_signal_safe.h"

// The part of the encoder's state that a piece changes. If a piece does not fit, the encoder restores the state.
typedef struct cs_piece_state {
  size_t count; // bytes of the payload
  uint64_t end; // the offset in the ring after the last piece
  uint64_t bases[CS_RECORD_LINE_BASE_COUNT];
  uint32_t next_base;
} cs_piece_state;

typedef struct cs_pieces {
  uint8_t *bytes;
  size_t limit; // the maximum of `state.count`
  cs_piece_state state;
} cs_pieces;

// Begins a payload without pieces. The caller fills the first `head_bytes` bytes itself.
cs_pieces cs_pieces_begin(uint8_t *bytes, size_t head_bytes, size_t limit) SIGNAL_SAFE;

// Adds a piece with as many of the first words as fit, and returns their number. If not all words fit, adds a multiple
// of `step` words, possibly none.
uint32_t cs_pieces_put_words(cs_pieces *pieces, uint64_t offset, const void *words, uint32_t count,
                             uint32_t step) SIGNAL_SAFE;

// Adds a piece with as many of the first bytes as fit, and returns their number.
uint32_t cs_pieces_put_bytes(cs_pieces *pieces, uint64_t offset, const void *bytes, uint32_t count) SIGNAL_SAFE;

// Returns how many bytes fit into a piece of the kind "bytes" that begins at `offset`.
uint32_t cs_pieces_room(const cs_pieces *pieces, uint64_t offset) SIGNAL_SAFE;

#endif
