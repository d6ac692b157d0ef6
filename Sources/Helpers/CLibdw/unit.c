#include "unit.h"
#include <dwarf.h>
#include <stdio.h>

/// Makes a path absolute. libdw returns relative paths (relative to DW_AT_comp_dir) for units of clang.
static uint32_t absolute_path(struct cs_unit *unit, const char *path) {
  struct cs_store *store = &unit->image->store;
  // Remove a second slash, because libdw joins the directory "/" and "<compiler-generated>" with a slash.
  while (path[0] == '/' && path[1] == '/')
    path++;
  if (path[0] == '/' || !unit->directory) return cs_store_string(store, path);
  char joined[8192];
  int length = snprintf(joined, sizeof joined, "%s/%s", unit->directory, path);
  return cs_store_string(store, length < (int)sizeof joined ? joined : path);
}

uint32_t cs_unit_path(struct cs_unit *unit, const char *path) {
  if (!path) return 0;
  struct cs_memo_slot *slot = cs_memo_find(&unit->image->store, unit->paths, (uintptr_t)path);
  if (!slot) return 0;
  if (!slot->used) {
    slot->used = 1;
    slot->value = absolute_path(unit, path);
  }
  return slot->value;
}

bool cs_unit_span(struct cs_unit *unit, uint64_t low, uint64_t high, struct cs_span *ret_span) {
  if (cs_image_span(unit->image, low, high, ret_span)) return true;
  if (low < unit->image->text_start && high > unit->dropped_end) unit->dropped_end = high;
  return false;
}

static void read_spans(struct cs_unit *unit) {
  Dwarf_Addr base, low, high;
  ptrdiff_t offset = 0;
  struct cs_span span;
  while ((offset = dwarf_ranges(&unit->die, offset, &base, &low, &high)) > 0) {
    if (!cs_unit_span(unit, low, high, &span)) continue;
    struct cs_span *room = cs_buffer_extend(&unit->image->store, &unit->spans, 1, sizeof span);
    if (!room) return;
    *room = span;
  }
}

/// Reads the rows of the line table; libdw has sorted them by address.
static bool read_rows(struct cs_unit *unit) {
  if (!dwarf_hasattr(&unit->die, DW_AT_stmt_list)) return true;
  Dwarf_Lines *lines;
  size_t count;
  if (dwarf_getsrclines(&unit->die, &lines, &count) != 0) return false;
  const struct cs_image *image = unit->image;
  for (size_t i = 0; i < count; i++) {
    Dwarf_Line *line = dwarf_onesrcline(lines, i);
    Dwarf_Addr address;
    if (dwarf_lineaddr(line, &address) != 0 || address < image->text_start || address > image->text_end) continue;
    struct cs_unit_row *row = cs_buffer_extend(&unit->image->store, &unit->rows, 1, sizeof *row);
    if (!row) return true;
    *row = (struct cs_unit_row){.start = (uint32_t)(address - image->base)};
    dwarf_lineendsequence(line, &row->is_end);
    int number = 0, column = 0;
    if (row->is_end || dwarf_lineno(line, &number) != 0 || dwarf_linecol(line, &column) != 0) continue;
    row->file = cs_unit_path(unit, dwarf_linesrc(line, NULL, NULL));
    row->line = (uint32_t)number;
    row->column = (uint32_t)column;
  }
  return true;
}

void cs_unit_drop_rows(struct cs_unit *unit) {
  if (unit->dropped_end <= unit->image->text_start) return;
  struct cs_unit_row *rows = unit->rows.items;
  size_t kept = 0;
  for (size_t i = 0; i < unit->rows.count; i++) {
    if (unit->image->base + rows[i].start >= unit->dropped_end) rows[kept++] = rows[i];
  }
  unit->rows.count = kept;
}

bool cs_unit_read(struct cs_unit *unit, const Dwarf_Die *die, Dwarf_Half version) {
  cs_store_begin_unit(&unit->image->store);
  unit->die = *die;
  unit->version = version;
  unit->says_where = dwarf_hasattr(&unit->die, DW_AT_ranges) || dwarf_hasattr(&unit->die, DW_AT_high_pc);
  unit->dropped_end = 0;
  unit->spans.count = unit->rows.count = unit->nodes.count = unit->paints.count = 0;
  Dwarf_Attribute attribute;
  unit->directory = dwarf_formstring(dwarf_attr(&unit->die, DW_AT_comp_dir, &attribute));
  if (dwarf_getsrcfiles(&unit->die, &unit->files, &unit->file_count) != 0) {
    unit->files = NULL;
    unit->file_count = 0;
  }
  read_spans(unit);
  return read_rows(unit);
}

void cs_unit_free(struct cs_unit *unit) {
  cs_buffer_free(&unit->spans);
  cs_buffer_free(&unit->rows);
  cs_buffer_free(&unit->nodes);
  cs_buffer_free(&unit->paints);
}
