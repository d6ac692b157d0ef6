// Splits a unit's code into pieces: at every row of the line table, and at every start and end of an inlined call.
#include "pieces.h"
#include <stdlib.h>

/// Marks code that the unit's debug information does not cover.
#define CS_OUTSIDE (CS_SYMBOLS_NONE - 1)

static int compare(const void *left, const void *right) {
  uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  return (a > b) - (a < b);
}

/// Collects all cuts (the addresses at which the location can change), sorted and without duplicates.
static void find_cuts(const struct cs_unit *unit, struct cs_buffer *cuts) {
  const struct cs_unit_row *rows = unit->rows.items;
  const struct cs_unit_paint *paints = unit->paints.items;
  const struct cs_span *spans = unit->spans.items;
  size_t count = unit->rows.count + 2 * unit->paints.count + 2 * unit->spans.count;
  uint32_t *next = cs_buffer_extend(&unit->image->store, cuts, count, sizeof *next);
  if (!next || count == 0) return;
  for (size_t i = 0; i < unit->rows.count; i++)
    *next++ = rows[i].start;
  for (size_t i = 0; i < unit->paints.count; i++) {
    *next++ = paints[i].span.start;
    *next++ = paints[i].span.end;
  }
  for (size_t i = 0; i < unit->spans.count; i++) {
    *next++ = spans[i].start;
    *next++ = spans[i].end;
  }
  uint32_t *all = cuts->items;
  qsort(all, count, sizeof *all, compare);
  size_t kept = 1;
  for (size_t i = 1; i < count; i++) {
    if (all[i] != all[kept - 1]) all[kept++] = all[i];
  }
  cuts->count = kept;
}

static void fill(const uint32_t *cuts, uint32_t *nodes, size_t count, struct cs_span span, uint32_t node) {
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (cuts[middle] < span.start)
      low = middle + 1;
    else
      high = middle;
  }
  for (; low < count && cuts[low] < span.end; low++)
    nodes[low] = node;
}

/// Finds the node (function or inlined call) that contains the code after each cut.
static void find_nodes(const struct cs_unit *unit, const struct cs_buffer *cuts, uint32_t *nodes) {
  const struct cs_span *spans = unit->spans.items;
  const struct cs_unit_paint *paints = unit->paints.items;
  for (size_t i = 0; i < cuts->count; i++)
    nodes[i] = unit->says_where ? CS_OUTSIDE : CS_SYMBOLS_NONE;
  for (size_t i = 0; i < unit->spans.count; i++)
    fill(cuts->items, nodes, cuts->count, spans[i], CS_SYMBOLS_NONE);
  for (size_t i = 0; i < unit->paints.count; i++)
    fill(cuts->items, nodes, cuts->count, paints[i].span, paints[i].node);
}

/// Returns the location of the code that belongs to `node` and to the line table row `row`. If `row` is NULL, the line
/// is unknown. Returns CS_SYMBOLS_NONE if the location is unknown.
static uint32_t locate(const struct cs_unit *unit, const struct cs_buffer *symbols, uint32_t start, uint32_t node,
                       const struct cs_unit_row *row) {
  struct cs_store *store = &unit->image->store;
  struct cs_place location = {
      .file = row ? row->file : 0,
      .line = row ? row->line : 0,
      .column = row ? row->column : 0,
      .parent = CS_SYMBOLS_NONE,
  };
  if (node != CS_SYMBOLS_NONE) {
    const struct cs_unit_node *known = (const struct cs_unit_node *)unit->nodes.items + node;
    location.function = known->function;
    location.parent = known->call_site;
  } else if (row) {
    // Units of assembly code have lines but no functions, so take the function from the symbol table.
    const struct cs_elf_symbol *symbol = cs_elf_symbols_find(symbols, start);
    location.function = symbol ? cs_elf_symbol_function(store, symbol) : 0;
  } else {
    return CS_SYMBOLS_NONE;
  }
  return cs_store_location(store, location);
}

void cs_pieces_add_unit(const struct cs_unit *unit, const struct cs_buffer *symbols, struct cs_buffer *pieces) {
  struct cs_store *store = &unit->image->store;
  struct cs_buffer cuts = {0}, nodes = {0};
  find_cuts(unit, &cuts);
  uint32_t *node = cs_buffer_extend(store, &nodes, cuts.count, sizeof *node);
  if (node && cuts.count) {
    find_nodes(unit, &cuts, node);
    const uint32_t *cut = cuts.items;
    const struct cs_unit_row *rows = unit->rows.items, *row = NULL;
    size_t next_row = 0;
    for (size_t i = 0; i + 1 < cuts.count; i++) {
      for (; next_row < unit->rows.count && rows[next_row].start <= cut[i]; next_row++)
        row = rows[next_row].is_end ? NULL : &rows[next_row];
      if (node[i] == CS_OUTSIDE) continue;
      uint32_t location = locate(unit, symbols, cut[i], node[i], row);
      if (location == CS_SYMBOLS_NONE) continue;
      struct cs_piece *piece = cs_buffer_extend(store, pieces, 1, sizeof *piece);
      if (!piece) break;
      *piece = (struct cs_piece){.span = {.start = cut[i], .end = cut[i + 1]}, .location = location};
    }
  }
  cs_buffer_free(&cuts);
  cs_buffer_free(&nodes);
}
