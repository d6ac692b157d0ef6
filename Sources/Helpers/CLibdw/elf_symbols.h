// The functions in an image's symbol table, sorted by address.
#pragma once

#include "image.h"

/// Symbols never overlap. Each symbol ends at or before the start of the next symbol.
struct cs_elf_symbol {
  struct cs_span span;
  uint32_t rank; // if several symbols have one address, the symbol with the lowest rank is kept
  const char *name;
};

/// Reads the functions, sorted, into `symbols` (an array of cs_elf_symbol). .symtab has all functions. A stripped image
/// has only .dynsym.
void cs_elf_symbols_read(struct cs_image *image, struct cs_buffer *symbols);

/// Returns the symbol that contains `offset`, or NULL.
const struct cs_elf_symbol *cs_elf_symbols_find(const struct cs_buffer *symbols, uint32_t offset);

/// Stores the function of a symbol in the image's tables, and returns its index.
uint32_t cs_elf_symbol_function(struct cs_store *store, const struct cs_elf_symbol *symbol);
