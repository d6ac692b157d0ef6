// Reads the symbols and the debug information of an ELF image into the tables of a symbol cache.
// libdw and libelf stay behind this header; Swift sees only plain arrays.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// "None" in every index of the tables.
#define CS_SYMBOLS_NONE UINT32_MAX

/// From `start` up to the next range's start, the code belongs to `location` (or to none).
struct cs_symbols_range {
  uint32_t start; // from the image's base
  uint32_t location;
};

/// A line within a context.
struct cs_symbols_location {
  uint32_t context;
  uint32_t line_column; // CS_SYMBOLS_LINE_BITS of line above CS_SYMBOLS_COLUMN_BITS of column
};

/// The common part of many lines: `parent` is the location that this function was inlined into. A parent always
/// precedes its children.
struct cs_symbols_context {
  uint32_t function;
  uint32_t file; // offset of a string; 0 when unknown
  uint32_t parent;
  uint32_t line_base; // added to the locations' lines; a line of 0 is unknown, as the column
};

#define CS_SYMBOLS_LINE_BITS   20
#define CS_SYMBOLS_COLUMN_BITS 12

struct cs_symbols_function {
  uint32_t name;  // offset of a string, the linkage name
  uint32_t entry; // from the image's base; none for inlined functions
  uint32_t file;  // where it is declared, offset of a string; 0 when unknown, as the line
  uint32_t line;
};

_Static_assert(sizeof(struct cs_symbols_range) == 8, "two words of the cache file");
_Static_assert(sizeof(struct cs_symbols_location) == 8, "two words of the cache file");
_Static_assert(sizeof(struct cs_symbols_context) == 16, "four words of the cache file");
_Static_assert(sizeof(struct cs_symbols_function) == 16, "four words of the cache file");

/// The tables; they live as long as the image.
struct cs_symbols {
  uint64_t base; // link address of the first loaded byte
  const struct cs_symbols_range *ranges;
  const struct cs_symbols_location *locations;
  const struct cs_symbols_context *contexts;
  const struct cs_symbols_function *functions;
  const char *strings; // NUL-terminated each; the first one is empty
  size_t range_count;
  size_t location_count;
  size_t context_count;
  size_t function_count;
  size_t strings_bytes;
  const char *debug_link; // name of the file that has the debug information; NULL when the image names none
  bool has_debug_info;
  bool debug_info_damaged; // some of it could not be read: what is here is right, but more could be known
};

/// Why an image was refused: one line for people.
struct cs_image_problem {
  char text[200];
};

struct cs_image;

/// Opens the ELF file behind `fd`, which must stay open as long as the image. NULL and a problem when it is not a
/// complete 64-bit little-endian executable or shared library.
struct cs_image *cs_image_open(int fd, struct cs_image_problem *ret_problem);

void cs_image_close(struct cs_image *image);

/// The build id's bytes, or NULL when the image has none.
const uint8_t *cs_image_read_build_id(const struct cs_image *image, size_t *ret_count);

/// Link addresses, sorted.
struct cs_addresses {
  const uint64_t *items;
  size_t count;
};

/// Decodes the image: all of it, or only the units and symbols of the given addresses (NULL: all). False and a problem
/// when memory or a limit of the format is exceeded.
bool cs_image_read_symbols(struct cs_image *image, const struct cs_addresses *addresses, struct cs_symbols *ret_symbols,
                           struct cs_image_problem *ret_problem);
