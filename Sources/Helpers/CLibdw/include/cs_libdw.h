// Reads the symbols and the debug information of an ELF image into the tables of a symbol cache. This header does not
// include the headers of libdw and libelf, so that Swift code uses only plain arrays.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// In all tables, the value of an index that refers to no item.
#define CS_SYMBOLS_NONE UINT32_MAX

/// The code from `start` to the `start` of the next range belongs to the location with the index `location`, or to no
/// location.
struct cs_symbols_range {
  uint32_t start; // offset from the image's base
  uint32_t location;
};

/// A code location: a line and a column within a context (cs_symbols_context).
struct cs_symbols_location {
  uint32_t context;
  uint32_t line_column; // the line, shifted left by CS_SYMBOLS_COLUMN_BITS, and the column
};

/// The common part of many locations, which is stored separately to keep the table of locations small. The member
/// `parent` is the location into which this function was inlined. A parent always precedes its children.
struct cs_symbols_context {
  uint32_t function;
  uint32_t file; // offset of a string, or 0 if unknown
  uint32_t parent;
  uint32_t line_base; // added to the line of each location, except to a line of 0, which means unknown
};

#define CS_SYMBOLS_LINE_BITS   20
#define CS_SYMBOLS_COLUMN_BITS 12

struct cs_symbols_function {
  uint32_t name;  // the linkage name, as the offset of a string
  uint32_t entry; // offset from the image's base; CS_SYMBOLS_NONE if inlined
  uint32_t file;  // the file of the declaration, as the offset of a string; `file` and `line` are 0 if unknown
  uint32_t line;
};

_Static_assert(sizeof(struct cs_symbols_range) == 8, "two words of the cache file");
_Static_assert(sizeof(struct cs_symbols_location) == 8, "two words of the cache file");
_Static_assert(sizeof(struct cs_symbols_context) == 16, "four words of the cache file");
_Static_assert(sizeof(struct cs_symbols_function) == 16, "four words of the cache file");

/// The tables of an image, which are valid until the image is closed.
struct cs_symbols {
  uint64_t base; // link address of the first loaded byte
  const struct cs_symbols_range *ranges;
  const struct cs_symbols_location *locations;
  const struct cs_symbols_context *contexts;
  const struct cs_symbols_function *functions;
  const char *strings; // each string is NUL-terminated; the first string is empty
  size_t range_count;
  size_t location_count;
  size_t context_count;
  size_t function_count;
  size_t strings_bytes;
  const char *debug_link; // name of the file with the debug information, or NULL
  bool has_debug_info;
  bool debug_info_damaged; // some debug information is unreadable: the tables are possibly incomplete
};

/// The reason why an image was refused, as one line for people.
struct cs_image_problem {
  char text[200];
};

struct cs_image;

/// Opens the ELF file behind `fd`; the descriptor must stay open as long as the image is open. Returns NULL and a
/// problem if the file is not a complete 64-bit little-endian executable or shared library.
struct cs_image *cs_image_open(int fd, struct cs_image_problem *ret_problem);

void cs_image_close(struct cs_image *image);

/// Returns the bytes of the build id, or NULL if the image has none.
const uint8_t *cs_image_read_build_id(const struct cs_image *image, size_t *ret_count);

/// The link addresses for which a partial cache is built; they must be sorted.
struct cs_addresses {
  const uint64_t *items;
  size_t count;
};

/// Decodes the whole image, or, if addresses are given, only the units and symbols that contain these addresses.
/// Returns false and a problem if memory is exhausted, or if a limit of the cache format is exceeded.
bool cs_image_read_symbols(struct cs_image *image, const struct cs_addresses *addresses, struct cs_symbols *ret_symbols,
                           struct cs_image_problem *ret_problem);
