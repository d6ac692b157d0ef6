// The symbols of an image, and what it has at an address.
#pragma once

#include "image.h"

/// The image's own table of symbols.
struct cs_scope_symbols {
  Elf *elf;
  Elf_Data *data;
  size_t strings; // their section
  size_t count;
};

/// Without any, where the image has been stripped.
struct cs_scope_symbols cs_scope_symbols_of(Elf *elf);

/// The name of a symbol that is defined; NULL: it is not, or has none.
const char *cs_scope_symbol(const struct cs_scope_symbols *symbols, size_t index, GElf_Sym *ret_symbol);

/// The bytes that the image has at an address when it is loaded, and how many the file has there in one piece; NULL:
/// none.
const uint8_t *cs_scope_bytes(Elf *elf, uint64_t address, size_t *ret_count);

/// The same as a copy; how many of `count`.
size_t cs_scope_read(Elf *elf, uint64_t address, void *ret_bytes, size_t count);
