// The symbols of an image, and its contents at an address.
#pragma once

#include "image.h"

/// The image's own table of symbols.
struct cs_scope_symbols {
  Elf *elf;
  Elf_Data *data;
  size_t strings; // their section
  size_t count;
};

/// Empty for a stripped image.
struct cs_scope_symbols cs_scope_symbols_of(Elf *elf);

/// The name of a defined symbol; NULL: it is undefined, or has none.
const char *cs_scope_symbol(const struct cs_scope_symbols *symbols, size_t index, GElf_Sym *ret_symbol);

/// The loaded image's bytes at an address, and how many the file has there contiguously; NULL: none.
const uint8_t *cs_scope_bytes(Elf *elf, uint64_t address, size_t *ret_count);

/// The same as a copy; returns how many of `count`.
size_t cs_scope_read(Elf *elf, uint64_t address, void *ret_bytes, size_t count);
