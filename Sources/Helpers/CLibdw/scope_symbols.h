// The symbols of an image, and its contents at an address.
#pragma once

#include "image.h"

/// The symbol table of an image.
struct cs_scope_symbols {
  Elf *elf;
  Elf_Data *data;
  size_t strings; // index of the section with their names
  size_t count;
};

/// Returns the symbol table, which is empty for a stripped image.
struct cs_scope_symbols cs_scope_symbols_of(Elf *elf);

/// Returns the name of a defined symbol, or NULL if the symbol is undefined or has no name.
const char *cs_scope_symbol(const struct cs_scope_symbols *symbols, size_t index, GElf_Sym *ret_symbol);

/// Returns the bytes of the loaded image at an address, and the number of contiguous bytes in the file. NULL if there
/// are none.
const uint8_t *cs_scope_bytes(Elf *elf, uint64_t address, size_t *ret_count);

/// Copies these bytes, and returns how many of `count` were copied.
size_t cs_scope_read(Elf *elf, uint64_t address, void *ret_bytes, size_t count);
