// A place in the code that is being described, and what each file adds to the description. scope_describe.c calls the
// others.
#pragma once

#include "cs_scope.h"
#include "image.h"
#include "scope_symbols.h"
#include <string.h>

#define CS_SCOPE_TYPES 64

/// A type that the text speaks of: its place in the list is its number.
struct cs_scope_type {
  Dwarf_Off offset; // of its DIE
  uint32_t steps;   // pointers that lead to it from a variable
};

struct cs_scope {
  struct cs_image *image;
  uint64_t pc;
  Dwarf_CFI *frames; // NULL when the file has none
  char *text;
  size_t count;
  struct cs_scope_type types[CS_SCOPE_TYPES];
  size_t type_count;
};

/// Where a variable is: a value of register + offset, or a word of memory there.
struct cs_scope_location {
  int64_t offset;
  uint32_t number;
  bool is_memory;
};

// scope.c

/// Adds a line; false when it does not fit, and nothing is added.
bool cs_scope_add(struct cs_scope *scope, const char *format, ...) __attribute__((format(printf, 2, 3)));

// scope_location.c

/// False where it is nowhere, or somewhere that one register and a number do not tell. `function` is the innermost
/// function that is not inlined.
bool cs_scope_locate(const struct cs_scope *scope, Dwarf_Die *variable, Dwarf_Die *function,
                     struct cs_scope_location *ret_location);

// scope_types.c

/// Whether a type is a pointer to anything.
bool cs_scope_is_pointer(Dwarf_Die *die);

/// The number of the type that `die`, a type, points at; CS_SCOPE_TYPES when it is no pointer to a type with members.
size_t cs_scope_pointee(struct cs_scope *scope, Dwarf_Die *die, uint32_t steps);

/// Adds every type that has a number, and those that they lead to.
void cs_scope_add_types(struct cs_scope *scope);

// scope_swift.c

/// Adds the stored properties of a Swift class, whose type has this linkage name: `$s4shop4CartCD`. `has_derived`: the
/// sizes of classes that are derived from it, too.
void cs_scope_add_swift_class(struct cs_scope *scope, const char *linkage_name, bool has_derived);

/// Adds how large objects of a Swift class are whose descriptor has this symbol, and of those derived from it.
void cs_scope_add_named_class(struct cs_scope *scope, const struct cs_scope_symbols *symbols, const char *descriptor);

/// What the whole metadata of a class ("Mf") has before the place that its address points at.
#define CS_SCOPE_METADATA_BYTES 24

/// Whether a symbol is that of a class's whole metadata.
static inline bool cs_scope_is_metadata(const char *name) {
  const size_t length = strlen(name);
  return length > 3 && strcmp(name + length - 3, "CMf") == 0;
}

// scope_code.c

/// Adds the Swift classes that the function at the place names: its own name does, or what it calls, or what it takes
/// the address of. That needs the image's symbols, and no debug information.
void cs_scope_add_named_classes(struct cs_scope *scope);
