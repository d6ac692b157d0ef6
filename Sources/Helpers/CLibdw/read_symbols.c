// Reads an image: first the symbols, then every unit, then the ranges.
#include "pieces.h"
#include <dwarf.h>
#include <elfutils/libdwelf.h>

/// Returns whether [start, end) contains one of the sorted addresses.
static bool is_asked(const struct cs_addresses *addresses, uint64_t start, uint64_t end) {
  size_t low = 0, high = addresses->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (addresses->items[middle] < start)
      low = middle + 1;
    else
      high = middle;
  }
  return low < addresses->count && addresses->items[low] < end;
}

static bool is_unit_asked(const struct cs_addresses *addresses, Dwarf_Die *die) {
  if (!addresses) return true;
  Dwarf_Addr base, low, high;
  ptrdiff_t offset = 0;
  while ((offset = dwarf_ranges(die, offset, &base, &low, &high)) > 0) {
    if (is_asked(addresses, low, high)) return true;
  }
  return false;
}

/// Reads the compilation units of the debug information. Returns whether all requested units could be read.
static bool read_units(struct cs_image *image, const struct cs_addresses *addresses, const struct cs_buffer *symbols,
                       struct cs_buffer *pieces) {
  struct cs_memo names = {0}, paths = {0};
  struct cs_unit unit = {.image = image, .symbols = symbols, .names = &names, .paths = &paths};
  Dwarf_CU *next = NULL;
  Dwarf_Half version;
  uint8_t type;
  Dwarf_Die die;
  bool good = true;
  int status;
  // Visit all units. A search by address would need .debug_aranges, which swiftc does not emit.
  while ((status = dwarf_get_units(image->dwarf, next, &next, &version, &type, &die, NULL)) == 0) {
    if ((type != DW_UT_compile && type != DW_UT_partial) || !is_unit_asked(addresses, &die)) continue;
    good = cs_unit_read(&unit, &die, version) && good;
    good = cs_unit_read_tree(&unit) && good;
    cs_unit_drop_rows(&unit);
    cs_pieces_add_unit(&unit, symbols, pieces);
    if (image->store.failure != CS_STORE_GOOD) break;
  }
  cs_unit_free(&unit);
  cs_memo_free(&names);
  cs_memo_free(&paths);
  return good && status > 0;
}

static bool has_section(Elf *elf, const char *name) {
  size_t strings;
  if (elf_getshdrstrndx(elf, &strings) != 0) return false;
  Elf_Scn *scn = NULL;
  while ((scn = elf_nextscn(elf, scn))) {
    GElf_Shdr section;
    if (!gelf_getshdr(scn, &section) || section.sh_type == SHT_NOBITS) continue;
    const char *found = elf_strptr(elf, strings, section.sh_name);
    if (found && __builtin_strcmp(found, name) == 0) return true;
  }
  return false;
}

/// Keeps only symbols that contain a requested address.
static void keep_asked(const struct cs_image *image, const struct cs_addresses *addresses, struct cs_buffer *symbols) {
  struct cs_elf_symbol *items = symbols->items;
  size_t kept = 0;
  for (size_t i = 0; i < symbols->count; i++) {
    if (is_asked(addresses, image->base + items[i].span.start, image->base + items[i].span.end))
      items[kept++] = items[i];
  }
  symbols->count = kept;
}

bool cs_image_read_symbols(struct cs_image *image, const struct cs_addresses *addresses, struct cs_symbols *ret_symbols,
                           struct cs_image_problem *ret_problem) {
  struct cs_store *store = &image->store;
  struct cs_buffer symbols = {0}, pieces = {0};
  bool has_debug_info = has_section(image->elf, ".debug_info"), damaged = false;
  if (cs_store_begin(store)) cs_elf_symbols_read(image, &symbols);
  if (has_debug_info && store->failure == CS_STORE_GOOD) {
    image->dwarf = dwarf_begin_elf(image->elf, DWARF_C_READ, NULL);
    damaged = !image->dwarf || !read_units(image, addresses, &symbols, &pieces);
  }
  if (addresses) keep_asked(image, addresses, &symbols);
  if (store->failure == CS_STORE_GOOD) cs_pieces_finish(image, &pieces, &symbols);
  cs_buffer_free(&symbols);
  cs_buffer_free(&pieces);
  if (store->failure != CS_STORE_GOOD) {
    cs_image_problem_set(ret_problem, "%s",
                         store->failure == CS_STORE_TOO_LARGE ? "the image has more symbols than a cache may hold"
                                                              : "out of memory");
    return false;
  }
  GElf_Word checksum; // the debug link's checksum is not used, because build ids identify the debug file
  *ret_symbols = (struct cs_symbols){
      .base = image->base,
      .debug_link = has_debug_info ? NULL : dwelf_elf_gnu_debuglink(image->elf, &checksum),
      .ranges = store->ranges.items,
      .locations = store->locations.items,
      .contexts = store->contexts.items,
      .functions = store->functions.items,
      .strings = store->strings.items,
      .range_count = store->ranges.count,
      .location_count = store->locations.count,
      .context_count = store->contexts.count,
      .function_count = store->functions.count,
      .strings_bytes = store->strings.count,
      .has_debug_info = has_debug_info,
      .debug_info_damaged = damaged,
  };
  return true;
}
