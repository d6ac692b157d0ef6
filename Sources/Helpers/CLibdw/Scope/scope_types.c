// Finds the target types of variables that hold pointers: types with members, from the DWARF of C and C++.
#include "scope.h"
#include <dwarf.h>
#include <inttypes.h>
#include <string.h>

// The maximum number of pointers that are followed from the target of a variable. The maximum is one pointer, because a
// chain of pointers is too weak evidence.
#define CS_SCOPE_STEPS 1
#define CS_SCOPE_PEELS 16

#ifndef DW_AT_APPLE_runtime_class
#define DW_AT_APPLE_runtime_class 0x3fe6 // elfutils does not define this name
#endif

/// Removes typedefs and qualifiers from a type.
static bool peel(Dwarf_Die *die) {
  for (int i = 0; i < CS_SCOPE_PEELS; i++) {
    Dwarf_Attribute attribute;
    switch (dwarf_tag(die)) {
    case DW_TAG_typedef:
    case DW_TAG_const_type:
    case DW_TAG_volatile_type:
    case DW_TAG_restrict_type:
    case DW_TAG_atomic_type:
      if (!dwarf_formref_die(dwarf_attr(die, DW_AT_type, &attribute), die)) return false;
      break;
    default:
      return true;
    }
  }
  return false;
}

static bool has_members(Dwarf_Die *die) {
  const int tag = dwarf_tag(die);
  return (tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type) &&
         !dwarf_hasattr(die, DW_AT_declaration);
}

/// Returns the linkage name of the Swift class to which a variable of this type refers, or NULL for any other type.
static const char *swift_class(Dwarf_Die *die) {
  Dwarf_Attribute attribute;
  Dwarf_Word language;
  if (dwarf_formudata(dwarf_attr(die, DW_AT_APPLE_runtime_class, &attribute), &language) != 0 ||
      language != DW_LANG_Swift)
    return NULL;
  const char *name = dwarf_formstring(dwarf_attr(die, DW_AT_linkage_name, &attribute));
  const size_t length = name ? strlen(name) : 0;
  if (length < 5 || strncmp(name, "$s", 2) != 0) return NULL;
  // Accept a class or an optional class.
  if (strcmp(name + length - 2, "CD") == 0 || strcmp(name + length - 4, "CSgD") == 0) return name;
  return NULL;
}

static size_t number_of(struct cs_scope *scope, Dwarf_Die *die, uint32_t steps) {
  const Dwarf_Off offset = dwarf_dieoffset(die);
  for (size_t i = 0; i < scope->type_count; i++) {
    if (scope->types[i].offset == offset) return i;
  }
  if (scope->type_count == CS_SCOPE_TYPES) return CS_SCOPE_TYPES;
  scope->types[scope->type_count] = (struct cs_scope_type){.offset = offset, .steps = steps};
  return scope->type_count++;
}

static bool is_pointer_tag(int tag) {
  return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type;
}

bool cs_scope_is_pointer(Dwarf_Die *die) {
  Dwarf_Die type = *die;
  return peel(&type) && is_pointer_tag(dwarf_tag(&type));
}

size_t cs_scope_pointee(struct cs_scope *scope, Dwarf_Die *die, uint32_t steps) {
  Dwarf_Attribute attribute;
  Dwarf_Die type = *die;
  if (steps > CS_SCOPE_STEPS || !peel(&type)) return CS_SCOPE_TYPES;
  if (swift_class(&type)) return number_of(scope, &type, steps);
  if (!is_pointer_tag(dwarf_tag(&type))) return CS_SCOPE_TYPES;
  if (!dwarf_formref_die(dwarf_attr(&type, DW_AT_type, &attribute), &type) || !peel(&type) || !has_members(&type))
    return CS_SCOPE_TYPES;
  return number_of(scope, &type, steps);
}

/// Reads the offset of a member. Returns false if the offset is not a constant.
static bool place_of(Dwarf_Die *member, Dwarf_Word *ret_offset) {
  Dwarf_Attribute attribute;
  *ret_offset = 0;
  if (dwarf_attr(member, DW_AT_data_member_location, &attribute)) return dwarf_formudata(&attribute, ret_offset) == 0;
  if (!dwarf_attr(member, DW_AT_data_bit_offset, &attribute)) return true;
  const bool good = dwarf_formudata(&attribute, ret_offset) == 0;
  *ret_offset /= 8;
  return good;
}

static void add_member(struct cs_scope *scope, Dwarf_Die *member, uint32_t steps) {
  Dwarf_Attribute attribute;
  Dwarf_Die type;
  Dwarf_Word offset, size;
  // Skip static members of C++, which are declarations.
  if (dwarf_hasattr(member, DW_AT_external) || dwarf_hasattr(member, DW_AT_declaration)) return;
  if (!place_of(member, &offset) || !dwarf_formref_die(dwarf_attr(member, DW_AT_type, &attribute), &type)) return;
  if (dwarf_aggregate_size(&type, &size) != 0 || !peel(&type)) return;
  const char *name = NULL;
  if (dwarf_tag(member) == DW_TAG_member) name = dwarf_formstring(dwarf_attr(member, DW_AT_name, &attribute));
  size_t number = cs_scope_pointee(scope, &type, steps + 1);
  char kind = number == CS_SCOPE_TYPES ? '-' : 'p';
  if (has_members(&type)) {
    number = number_of(scope, &type, steps);
    kind = number == CS_SCOPE_TYPES ? '-' : 'v';
  }
  if (kind == '-')
    cs_scope_add(scope, "F %" PRIu64 " %" PRIu64 " - - %s\n", offset, size, name ? name : "");
  else
    cs_scope_add(scope, "F %" PRIu64 " %" PRIu64 " %c %zu %s\n", offset, size, kind, number, name ? name : "");
}

static void add_type(struct cs_scope *scope, size_t number) {
  Dwarf_Attribute attribute;
  Dwarf_Die type, child;
  if (!dwarf_offdie(scope->image->dwarf, scope->types[number].offset, &type)) return;
  const char *name = dwarf_formstring(dwarf_attr(&type, DW_AT_name, &attribute));
  const char *class = swift_class(&type);
  cs_scope_add(scope, "T %zu %s\n", number, class ? class : name ? name : "");
  if (class) {
    cs_scope_add_swift_class(scope, class, scope->types[number].steps == 0);
    return;
  }
  int status = dwarf_child(&type, &child);
  while (status == 0) {
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_member || tag == DW_TAG_inheritance) add_member(scope, &child, scope->types[number].steps);
    // In a damaged file, DW_AT_sibling can refer to an earlier DIE, and the loop would then be endless.
    const Dwarf_Off offset = dwarf_dieoffset(&child);
    status = dwarf_siblingof(&child, &child);
    if (status == 0 && dwarf_dieoffset(&child) <= offset) return;
  }
}

void cs_scope_add_types(struct cs_scope *scope) {
  // The body of this loop appends types to the list, up to the list's limit.
  for (size_t i = 0; i < scope->type_count; i++)
    add_type(scope, i);
}
