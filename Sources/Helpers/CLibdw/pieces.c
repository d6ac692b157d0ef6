#include "pieces.h"
#include <stdlib.h>

static int compare(const void *left, const void *right) {
  const struct cs_piece *a = left, *b = right;
  if (a->span.start != b->span.start) return a->span.start < b->span.start ? -1 : 1;
  return (a->span.end > b->span.end) - (a->span.end < b->span.end);
}

/// The ranges that were written so far. These ranges cover all code up to `end`.
struct output {
  struct cs_image *image;
  uint32_t end;
  uint32_t last; // location of the last range
};

static void start_range(struct output *output, uint32_t start, uint32_t location) {
  if (output->last == location) return;
  struct cs_store *store = &output->image->store;
  struct cs_symbols_range *range = cs_buffer_extend(store, &store->ranges, 1, sizeof *range);
  if (!range) return;
  *range = (struct cs_symbols_range){.start = start, .location = location};
  output->last = location;
}

/// Appends a range with this location. Code between the previous range and the start of the new range gets a range
/// without a location.
static void append(struct output *output, struct cs_span span, uint32_t location) {
  if (span.start > output->end) start_range(output, output->end, CS_SYMBOLS_NONE);
  start_range(output, span.start, location);
  output->end = span.end;
}

/// Assigns code between the previous range and `end` to symbols.
static void append_symbols(struct output *output, const struct cs_buffer *symbols, size_t *next, uint32_t end) {
  struct cs_store *store = &output->image->store;
  const struct cs_elf_symbol *items = symbols->items;
  for (; *next < symbols->count && items[*next].span.start < end; (*next)++) {
    struct cs_span span = items[*next].span;
    bool reaches_on = span.end > end;
    if (span.start < output->end) span.start = output->end;
    if (span.end > end) span.end = end;
    if (span.start < span.end) {
      uint32_t function = cs_elf_symbol_function(store, &items[*next]);
      append(output, span,
             cs_store_location(store, (struct cs_place){.function = function, .parent = CS_SYMBOLS_NONE}));
    }
    if (reaches_on) return;
  }
}

void cs_pieces_finish(struct cs_image *image, struct cs_buffer *pieces, const struct cs_buffer *symbols) {
  struct cs_piece *items = pieces->items;
  if (pieces->count) qsort(items, pieces->count, sizeof *items, compare);
  struct output output = {.image = image, .last = CS_SYMBOLS_NONE};
  size_t next_symbol = 0;
  for (size_t i = 0; i < pieces->count; i++) {
    struct cs_span span = items[i].span;
    // Two units can describe the same code, because the linker merges equal functions (identical code folding). For
    // this code, use the location from the first of these units.
    if (span.start < output.end) span.start = output.end;
    if (span.start >= span.end) continue;
    append_symbols(&output, symbols, &next_symbol, span.start);
    append(&output, span, items[i].location);
  }
  append_symbols(&output, symbols, &next_symbol, CS_SYMBOLS_NONE);
  start_range(&output, output.end, CS_SYMBOLS_NONE);
}
