// The functions of an image's symbol table, by address.
#pragma once

#include "image.h"

/// Symbols never overlap: each one ends where the next one starts at the latest.
struct cs_elf_symbol {
  struct cs_span span;
  uint32_t rank; // which of several at one address is kept: the lowest
  const char *name;
};

/// Reads the sorted functions into `symbols` (of cs_elf_symbol). .symtab has all; a stripped image still has .dynsym.
void cs_elf_symbols_read(struct cs_image *image, struct cs_buffer *symbols);

/// The symbol that contains `offset`, or NULL.
const struct cs_elf_symbol *cs_elf_symbols_find(const struct cs_buffer *symbols, uint32_t offset);

/// The function of a symbol.
uint32_t cs_elf_symbol_function(struct cs_store *store, const struct cs_elf_symbol *symbol);
