// Finds symbols by their index, and the contents of an image by address.
#include "scope_symbols.h"
#include <string.h>

const uint8_t *cs_scope_bytes(Elf *elf, uint64_t address, size_t *ret_count) {
  Elf_Scn *scn = NULL;
  while ((scn = elf_nextscn(elf, scn))) {
    GElf_Shdr section;
    if (!gelf_getshdr(scn, &section) || section.sh_type != SHT_PROGBITS || !(section.sh_flags & SHF_ALLOC)) continue;
    if (address < section.sh_addr || address - section.sh_addr >= section.sh_size) continue;
    const Elf_Data *data = elf_rawdata(scn, NULL);
    const uint64_t offset = address - section.sh_addr;
    if (!data || !data->d_buf || offset >= data->d_size) return NULL;
    *ret_count = data->d_size - offset;
    return (const uint8_t *)data->d_buf + offset;
  }
  return NULL;
}

size_t cs_scope_read(Elf *elf, uint64_t address, void *ret_bytes, size_t count) {
  size_t room;
  const uint8_t *bytes = cs_scope_bytes(elf, address, &room);
  if (!bytes) return 0;
  if (count > room) count = room;
  memcpy(ret_bytes, bytes, count);
  return count;
}

struct cs_scope_symbols cs_scope_symbols_of(Elf *elf) {
  struct cs_scope_symbols symbols = {.elf = elf};
  GElf_Shdr section;
  Elf_Scn *scn = NULL;
  while ((scn = elf_nextscn(elf, scn))) {
    if (gelf_getshdr(scn, &section) && section.sh_type == SHT_SYMTAB) break;
  }
  symbols.data = scn ? elf_getdata(scn, NULL) : NULL;
  if (!symbols.data || symbols.data->d_type != ELF_T_SYM) return symbols;
  symbols.strings = section.sh_link;
  symbols.count = symbols.data->d_size / sizeof(Elf64_Sym);
  if (symbols.count > INT32_MAX) symbols.count = INT32_MAX;
  return symbols;
}

const char *cs_scope_symbol(const struct cs_scope_symbols *symbols, size_t index, GElf_Sym *ret_symbol) {
  if (!gelf_getsym(symbols->data, (int)index, ret_symbol) || ret_symbol->st_shndx == SHN_UNDEF) return NULL;
  return elf_strptr(symbols->elf, symbols->strings, ret_symbol->st_name);
}
