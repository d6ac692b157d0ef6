// Converts decoded units and symbols to the sorted address ranges of a symbol cache.
#pragma once

#include "elf_symbols.h"
#include "unit.h"

/// A contiguous piece of code with one location.
struct cs_piece {
  struct cs_span span;
  uint32_t location;
};

/// Adds the pieces of one unit (an array of cs_piece).
void cs_pieces_add_unit(const struct cs_unit *unit, const struct cs_buffer *symbols, struct cs_buffer *pieces);

/// Sorts the pieces, fills the gaps between them with symbols, and stores the ranges in the image.
void cs_pieces_finish(struct cs_image *image, struct cs_buffer *pieces, const struct cs_buffer *symbols);
