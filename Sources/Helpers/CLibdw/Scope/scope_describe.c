// Finds the functions and blocks that contain an address, and their variables.
#include "scope.h"
#include <dwarf.h>
#include <inttypes.h>
#include <stdio.h>

// DIEs below this depth are skipped, as in unit_tree.c.
#define CS_SCOPE_DEPTH 200

static void add_variable(struct cs_scope *scope, Dwarf_Die *die, Dwarf_Die *function) {
  Dwarf_Attribute attribute;
  Dwarf_Die type;
  struct cs_scope_location location;
  const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attribute));
  if (!name || !*name || !cs_scope_locate(scope, die, function, &location)) return;
  if (!dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attribute), &type)) return;
  const size_t number = cs_scope_pointee(scope, &type, 0);
  const char kind = location.is_memory ? 'm' : 'r';
  if (number < CS_SCOPE_TYPES)
    cs_scope_add(scope, "V %c %u %" PRId64 " %zu %s\n", kind, location.number, location.offset, number, name);
  else if (cs_scope_is_pointer(&type))
    cs_scope_add(scope, "V %c %u %" PRId64 " - %s\n", kind, location.number, location.offset, name);
}

/// Visits the debugging information entries (DIEs) below `parent`. The parameter `function` is the innermost enclosing
/// function that is not inlined. The parameter `is_around` is true if `parent` contains the address.
static void walk(struct cs_scope *scope, Dwarf_Die *parent, Dwarf_Die *function, bool is_around, int depth) {
  Dwarf_Die die;
  int status = dwarf_child(parent, &die);
  while (status == 0) {
    const int tag = dwarf_tag(&die);
    if (tag == DW_TAG_variable || tag == DW_TAG_formal_parameter) {
      if (is_around && function) add_variable(scope, &die, function);
    } else if (dwarf_haschildren(&die) > 0 && depth < CS_SCOPE_DEPTH) {
      const bool is_function = tag == DW_TAG_subprogram;
      const bool is_code = is_function || tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block;
      const bool has_place = is_code && dwarf_haspc(&die, scope->pc) > 0;
      // Skip a block that does not contain the address, because its nested blocks do not contain the address either.
      // Visit every function, because it can contain other functions.
      if (!is_code || is_function || has_place)
        walk(scope, &die, is_function ? has_place ? &die : NULL : function, has_place, depth + 1);
    }
    // In a damaged file, DW_AT_sibling can refer to an earlier DIE, and the loop would then be endless.
    const Dwarf_Off offset = dwarf_dieoffset(&die);
    status = dwarf_siblingof(&die, &die);
    if (status == 0 && dwarf_dieoffset(&die) <= offset) return;
  }
}

static bool find_unit(const struct cs_scope *scope, Dwarf_Die *ret_unit) {
  Dwarf_CU *next = NULL;
  Dwarf_Half version;
  uint8_t type;
  // Visit all units. Visit all DIEs, because a search by address would need .debug_aranges, which swiftc does not emit.
  while (dwarf_get_units(scope->image->dwarf, next, &next, &version, &type, ret_unit, NULL) == 0) {
    if ((type == DW_UT_compile || type == DW_UT_partial) && dwarf_haspc(ret_unit, scope->pc) > 0) return true;
  }
  return false;
}

static void add_code(struct cs_scope *scope) {
  uint8_t code[CS_SCOPE_CODE_BYTES];
  char digits[2 * sizeof code + 1];
  size_t count = scope->pc < sizeof code ? (size_t)scope->pc : sizeof code;
  // Near the beginning of a section, fewer bytes of code precede the address, so reduce the count until the read
  // succeeds.
  while (count > 0 && cs_scope_read(scope->image->elf, scope->pc - count, code, count) != count)
    count--;
  for (size_t i = 0; i < count; i++)
    (void)snprintf(digits + 2 * i, 3, "%02x", code[i]);
  if (count > 0) cs_scope_add(scope, "B %s\n", digits);
}

size_t cs_scope_describe(struct cs_image *image, uint64_t pc, char *ret_text) {
  struct cs_scope scope = {.image = image, .pc = pc, .text = ret_text};
  Dwarf_Die unit;
  add_code(&scope);
  if (!image->dwarf) image->dwarf = dwarf_begin_elf(image->elf, DWARF_C_READ, NULL);
  if (!image->dwarf || !find_unit(&scope, &unit)) return scope.count;
  scope.frames = dwarf_getcfi_elf(image->elf);
  walk(&scope, &unit, NULL, false, 0);
  cs_scope_add_types(&scope);
  if (scope.frames) dwarf_cfi_end(scope.frames);
  return scope.count;
}

size_t cs_scope_describe_classes(struct cs_image *image, uint64_t pc, char *ret_text) {
  struct cs_scope scope = {.image = image, .pc = pc, .text = ret_text};
  cs_scope_add_named_classes(&scope);
  return scope.count;
}
