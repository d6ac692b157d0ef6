// The symbols of an image, and its contents at an address.
#pragma once

#include "../image.h"

/// The symbol table of an image.
struct cs_scope_symbols {
  Elf *elf;
  Elf_Data *data;
  size_t strings; // index of the section that contains the symbols' names
  size_t count;
};

/// Returns the symbol table of an image, which is empty if the image is stripped.
struct cs_scope_symbols cs_scope_symbols_of(Elf *elf);

/// Returns the name of a defined symbol, or NULL if the symbol is undefined or has no name.
const char *cs_scope_symbol(const struct cs_scope_symbols *symbols, size_t index, GElf_Sym *ret_symbol);

/// Returns the bytes of the loaded image at an address, and the number of contiguous bytes in the file. Returns NULL if
/// the address is not in the file.
const uint8_t *cs_scope_bytes(Elf *elf, uint64_t address, size_t *ret_count);

/// Copies `count` bytes of the loaded image at an address, and returns how many bytes were copied.
size_t cs_scope_read(Elf *elf, uint64_t address, void *ret_bytes, size_t count);
