// One compilation unit of the debug information, decoded.
#pragma once

#include "image.h"

/// A row of the line table; it covers the code from `start` to the `start` of the next row.
struct cs_unit_row {
  uint32_t start;
  uint32_t file;
  uint32_t line;
  uint32_t column;
  bool is_end; // end of a sequence: the code after it has no line
};

/// A function or an inlined call.
struct cs_unit_node {
  uint32_t function;
  uint32_t call_site; // index of the location in the caller; CS_SYMBOLS_NONE for a function
};

/// A paint: a range of code that belongs to a node. The paints are in the order of the tree. If a paint overlaps an
/// earlier paint, the later paint belongs to an inner node and takes precedence.
struct cs_unit_paint {
  struct cs_span span;
  uint32_t node;
};

struct cs_unit {
  struct cs_image *image;
  Dwarf_Die die;
  Dwarf_Half version;
  const char *directory; // DW_AT_comp_dir, or NULL
  Dwarf_Files *files;
  size_t file_count;
  bool says_where;                 // the debug information contains the unit's ranges, so `spans` is complete
  uint64_t dropped_end;            // code below this link address can belong to functions that the linker dropped
  struct cs_buffer spans;          // cs_span: all code of the unit
  struct cs_buffer rows;           // cs_unit_row, sorted
  struct cs_buffer nodes;          // cs_unit_node
  struct cs_buffer paints;         // cs_unit_paint
  const struct cs_buffer *symbols; // cs_elf_symbol, of the whole image
  struct cs_memo *names;           // functions by the offset of their abstract origin
  struct cs_memo *paths;           // strings by the address of libdw's path
};

/// Clears a unit, and reads its code ranges and lines from its DIE. Returns false if libdw could not read a part.
bool cs_unit_read(struct cs_unit *unit, const Dwarf_Die *die, Dwarf_Half version);

/// Calls cs_image_span for a unit, and records the extent of functions that the linker dropped. The linker leaves the
/// debug information of dropped functions at address 0, where a large function can seem to overlap other code.
bool cs_unit_span(struct cs_unit *unit, uint64_t low, uint64_t high, struct cs_span *ret_span);

void cs_unit_free(struct cs_unit *unit);

/// Removes rows that possibly belong to dropped functions. libdw sorts these rows between the valid rows, so this
/// function can also remove some valid rows. A missing line is better than a wrong line. Precondition:
/// cs_unit_read_tree() was called, which records the extent of dropped functions.
void cs_unit_drop_rows(struct cs_unit *unit);

/// Reads the tree of functions and inlined calls into `nodes` and `paints` (unit_tree.c). Returns false if the tree is
/// damaged.
bool cs_unit_read_tree(struct cs_unit *unit);

/// Stores a path from libdw as an absolute path, and returns the offset of the string.
uint32_t cs_unit_path(struct cs_unit *unit, const char *path);
