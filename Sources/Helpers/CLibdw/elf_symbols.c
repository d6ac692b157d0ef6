#include "elf_symbols.h"
#include <stdlib.h>
#include <string.h>

static Elf_Scn *find_table(Elf *elf, GElf_Shdr *ret_section) {
  static const GElf_Word kinds[] = {SHT_SYMTAB, SHT_DYNSYM};
  for (size_t i = 0; i < 2; i++) {
    Elf_Scn *scn = NULL;
    while ((scn = elf_nextscn(elf, scn))) {
      if (gelf_getshdr(scn, ret_section) && ret_section->sh_type == kinds[i]) return scn;
    }
  }
  return NULL;
}

/// Ranks the names of one address by readability. Names with fewer leading underscores come first (libc's `raise`
/// before `__GI_raise`). Next come exported names, and then shorter names.
static uint32_t rank_of(const GElf_Sym *symbol, const char *name) {
  size_t underscores = strspn(name, "_");
  size_t length = strlen(name);
  uint32_t local = GELF_ST_BIND(symbol->st_info) == STB_LOCAL;
  return (uint32_t)(underscores < 15 ? underscores : 15) << 28 | local << 27 |
         (uint32_t)(length < 0xffff ? length : 0xffff);
}

static bool is_code(const struct cs_image *image, const GElf_Sym *symbol) {
  int type = GELF_ST_TYPE(symbol->st_info);
  // Accept symbols without a type, because functions written in assembly often have none.
  if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) return false;
  if (symbol->st_shndx == SHN_UNDEF || (symbol->st_shndx >= SHN_LORESERVE && symbol->st_shndx != SHN_XINDEX))
    return false;
  return symbol->st_value >= image->text_start && symbol->st_value < image->text_end;
}

static void add(struct cs_image *image, struct cs_buffer *symbols, const GElf_Sym *symbol, const char *name) {
  if (!name || !*name || !is_code(image, symbol)) return;
  uint64_t end;
  if (__builtin_add_overflow(symbol->st_value, symbol->st_size, &end) || end > image->text_end) end = image->text_end;
  struct cs_elf_symbol *room = cs_buffer_extend(&image->store, symbols, 1, sizeof *room);
  if (!room) return;
  uint32_t start = (uint32_t)(symbol->st_value - image->base);
  *room = (struct cs_elf_symbol){
      .span = {.start = start, .end = (uint32_t)(end - image->base)},
      .rank = rank_of(symbol, name),
      .name = name,
  };
}

static bool is_sized(const struct cs_elf_symbol *symbol) {
  return symbol->span.end > symbol->span.start;
}

static int compare(const void *left, const void *right) {
  const struct cs_elf_symbol *a = left, *b = right;
  if (a->span.start != b->span.start) return a->span.start < b->span.start ? -1 : 1;
  if (is_sized(a) != is_sized(b)) return is_sized(a) ? -1 : 1;
  if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
  return strcmp(a->name, b->name);
}

/// Keeps one symbol per address, extends symbols without a size to the next symbol, and removes overlaps. A symbol
/// without a size that lies inside another symbol is a label, not a function.
static void settle(const struct cs_image *image, struct cs_buffer *symbols) {
  struct cs_elf_symbol *items = symbols->items;
  size_t kept = 0;
  uint32_t sized_end = 0;
  for (size_t i = 0; i < symbols->count; i++) {
    if (kept > 0 && items[kept - 1].span.start == items[i].span.start) continue;
    if (!is_sized(&items[i]) && items[i].span.start < sized_end) continue;
    if (items[i].span.end > sized_end) sized_end = items[i].span.end;
    items[kept++] = items[i];
  }
  symbols->count = kept;
  for (size_t i = 0; i < kept; i++) {
    uint32_t next = i + 1 < kept ? items[i + 1].span.start : (uint32_t)(image->text_end - image->base);
    if (!is_sized(&items[i]) || items[i].span.end > next) items[i].span.end = next;
  }
}

void cs_elf_symbols_read(struct cs_image *image, struct cs_buffer *symbols) {
  GElf_Shdr section;
  Elf_Scn *scn = find_table(image->elf, &section);
  Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
  if (!data || data->d_type != ELF_T_SYM) return;
  size_t count = data->d_size / sizeof(Elf64_Sym);
  if (count > INT32_MAX) return;
  for (size_t i = 1; i < count; i++) {
    GElf_Sym symbol;
    if (gelf_getsym(data, (int)i, &symbol))
      add(image, symbols, &symbol, elf_strptr(image->elf, section.sh_link, symbol.st_name));
  }
  if (symbols->count == 0) return;
  qsort(symbols->items, symbols->count, sizeof(struct cs_elf_symbol), compare);
  settle(image, symbols);
}

const struct cs_elf_symbol *cs_elf_symbols_find(const struct cs_buffer *symbols, uint32_t offset) {
  const struct cs_elf_symbol *items = symbols->items;
  size_t low = 0, high = symbols->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (items[middle].span.start <= offset)
      low = middle + 1;
    else
      high = middle;
  }
  return low > 0 && offset < items[low - 1].span.end ? &items[low - 1] : NULL;
}

uint32_t cs_elf_symbol_function(struct cs_store *store, const struct cs_elf_symbol *symbol) {
  return cs_store_function(
      store, (struct cs_symbols_function){.name = cs_store_string(store, symbol->name), .entry = symbol->span.start});
}
