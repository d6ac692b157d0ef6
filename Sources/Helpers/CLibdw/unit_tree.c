// Finds the function, and the chain of inlined calls, for each piece of a unit's code.
//
// The whole tree is visited, even below DIEs without addresses, because swiftc places specializations below modules,
// and closures below functions without code. libdw's own searches (dwarf_getscopes, dwfl_module_addrdie) miss a tenth
// of Swift's inline chains.
#include "elf_symbols.h"
#include "unit.h"
#include <dwarf.h>

// DIEs below this depth are skipped. The code of skipped DIEs belongs to the enclosing node.
#define CS_TREE_DEPTH_LIMIT 200

/// The current position of the visit in the tree of DIEs.
struct place {
  uint32_t node; // the innermost enclosing function or inlined call, or CS_SYMBOLS_NONE
  int depth;
};

static const char *attribute_text(Dwarf_Die *die, unsigned int name) {
  Dwarf_Attribute attribute;
  // dwarf_attr_integrate follows DW_AT_abstract_origin and DW_AT_specification.
  return dwarf_formstring(dwarf_attr_integrate(die, name, &attribute));
}

static const char *linkage_name(Dwarf_Die *die) {
  static const unsigned int names[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name};
  for (size_t i = 0; i < 3; i++) {
    const char *name = attribute_text(die, names[i]);
    if (name) return name;
  }
  return NULL;
}

/// Returns the linkage name of a function. With -gline-tables-only, the debug information of C++ functions lacks
/// linkage names, so take these names from the symbol table.
static const char *function_name(const struct cs_unit *unit, Dwarf_Die *die, uint32_t entry) {
  if (!attribute_text(die, DW_AT_linkage_name) && !attribute_text(die, DW_AT_MIPS_linkage_name)) {
    const struct cs_elf_symbol *symbol = cs_elf_symbols_find(unit->symbols, entry);
    if (symbol && symbol->span.start == entry && symbol->name[0] == '_' && symbol->name[1] == 'Z') return symbol->name;
  }
  return linkage_name(die);
}

static Dwarf_Word number_of(Dwarf_Attribute *attribute, Dwarf_Word otherwise) {
  Dwarf_Word value;
  return dwarf_formudata(attribute, &value) == 0 ? value : otherwise;
}

static Dwarf_Word number(Dwarf_Die *die, unsigned int name, Dwarf_Word otherwise) {
  Dwarf_Attribute attribute;
  return number_of(dwarf_attr(die, name, &attribute), otherwise);
}

/// Returns the string for a file number of the unit's file table, or 0 if the table does not contain the number.
static uint32_t file_string(struct cs_unit *unit, Dwarf_Word file) {
  // Before DWARF 5, the file number 0 means that the file is unknown.
  if (file >= unit->file_count || (file == 0 && unit->version < 5)) return 0;
  return cs_unit_path(unit, dwarf_filesrc(unit->files, file, NULL, NULL));
}

/// Stores a function with its declaration.
static uint32_t store_function(struct cs_unit *unit, Dwarf_Die *die, const char *name, uint32_t entry) {
  struct cs_symbols_function function = {.name = cs_store_string(&unit->image->store, name), .entry = entry};
  Dwarf_Attribute attribute;
  // A file number refers to the file table of the unit that contains the attribute, so ignore an attribute of another
  // unit.
  if (dwarf_attr_integrate(die, DW_AT_decl_file, &attribute) && attribute.cu == unit->die.cu)
    function.file = file_string(unit, number_of(&attribute, UINT64_MAX));
  if (function.file) function.line = (uint32_t)number_of(dwarf_attr_integrate(die, DW_AT_decl_line, &attribute), 0);
  return cs_store_function(&unit->image->store, function);
}

/// Returns the function of an inlined call. The name of the function is cached, because many inlined calls share one
/// abstract origin.
static uint32_t inlined_function(struct cs_unit *unit, Dwarf_Die *die) {
  struct cs_store *store = &unit->image->store;
  Dwarf_Attribute attribute;
  Dwarf_Die origin_memory;
  Dwarf_Die *origin = dwarf_formref_die(dwarf_attr(die, DW_AT_abstract_origin, &attribute), &origin_memory);
  struct cs_memo_slot *slot = cs_memo_find(store, unit->names, dwarf_dieoffset(origin ? origin : die));
  if (!slot) return 0;
  if (!slot->used) {
    slot->used = 1;
    slot->value = store_function(unit, die, linkage_name(die), CS_SYMBOLS_NONE);
  }
  return slot->value;
}

/// Returns the location of an inlined call: its line in the caller, and the caller's own inline chain.
static uint32_t call_site(struct cs_unit *unit, Dwarf_Die *die, uint32_t caller) {
  if (caller == CS_SYMBOLS_NONE) return CS_SYMBOLS_NONE;
  const struct cs_unit_node *node = (const struct cs_unit_node *)unit->nodes.items + caller;
  return cs_store_location(&unit->image->store, (struct cs_place){
                                                    .function = node->function,
                                                    .file = file_string(unit, number(die, DW_AT_call_file, UINT64_MAX)),
                                                    .line = (uint32_t)number(die, DW_AT_call_line, 0),
                                                    .column = (uint32_t)number(die, DW_AT_call_column, 0),
                                                    .parent = node->call_site,
                                                });
}

/// Creates the node of a function or an inlined call.
static uint32_t add_node(struct cs_unit *unit, Dwarf_Die *die, int tag, uint32_t entry, uint32_t caller) {
  struct cs_unit_node node = {.call_site = CS_SYMBOLS_NONE};
  if (tag == DW_TAG_subprogram) {
    node.function = store_function(unit, die, function_name(unit, die, entry), entry);
  } else {
    node.function = inlined_function(unit, die);
    node.call_site = call_site(unit, die, caller);
  }
  struct cs_unit_node *room = cs_buffer_extend(&unit->image->store, &unit->nodes, 1, sizeof node);
  if (!room) return CS_SYMBOLS_NONE;
  *room = node;
  return (uint32_t)(unit->nodes.count - 1);
}

/// Records the code of a function or an inlined call, and returns its node, or CS_SYMBOLS_NONE if it has no code.
static uint32_t paint(struct cs_unit *unit, Dwarf_Die *die, int tag, uint32_t caller) {
  uint32_t node = CS_SYMBOLS_NONE;
  Dwarf_Addr base, low, high;
  ptrdiff_t offset = 0;
  struct cs_span span;
  while ((offset = dwarf_ranges(die, offset, &base, &low, &high)) > 0) {
    if (!cs_unit_span(unit, low, high, &span)) continue;
    if (node == CS_SYMBOLS_NONE) node = add_node(unit, die, tag, span.start, caller);
    struct cs_unit_paint *room = cs_buffer_extend(&unit->image->store, &unit->paints, 1, sizeof *room);
    if (!room || node == CS_SYMBOLS_NONE) return node;
    *room = (struct cs_unit_paint){.span = span, .node = node};
  }
  return node;
}

/// Returns whether DIEs with this tag never contain code.
static bool is_leaf(int tag) {
  switch (tag) {
  case DW_TAG_array_type:
  case DW_TAG_subroutine_type:
  case DW_TAG_variant_part:
  case DW_TAG_call_site:
  case DW_TAG_GNU_call_site:
    return true;
  default:
    return false;
  }
}

/// Returns the node to which the children of a DIE belong.
static uint32_t visit(struct cs_unit *unit, Dwarf_Die *die, uint32_t around) {
  int tag = dwarf_tag(die);
  if (tag == DW_TAG_subprogram)
    return paint(unit, die, tag, CS_SYMBOLS_NONE); // a function inside another function begins a new inline chain
  if (tag != DW_TAG_inlined_subroutine) return around;
  uint32_t node = paint(unit, die, tag, around);
  return node == CS_SYMBOLS_NONE ? around : node;
}

static bool walk(struct cs_unit *unit, Dwarf_Die *parent, struct place place) {
  Dwarf_Die die;
  int status = dwarf_child(parent, &die);
  bool good = true;
  while (status == 0) {
    uint32_t node = visit(unit, &die, place.node);
    if (unit->image->store.failure != CS_STORE_GOOD) return false;
    if (dwarf_haschildren(&die) > 0 && !is_leaf(dwarf_tag(&die))) {
      if (place.depth < CS_TREE_DEPTH_LIMIT)
        good = walk(unit, &die, (struct place){.node = node, .depth = place.depth + 1}) && good;
      else
        good = false;
    }
    // In a damaged file, DW_AT_sibling can refer to an earlier DIE, and the loop would then be endless.
    Dwarf_Off offset = dwarf_dieoffset(&die);
    status = dwarf_siblingof(&die, &die);
    if (status == 0 && dwarf_dieoffset(&die) <= offset) return false;
  }
  return good && status > 0;
}

bool cs_unit_read_tree(struct cs_unit *unit) {
  return walk(unit, &unit->die, (struct place){.node = CS_SYMBOLS_NONE, .depth = 0});
}
