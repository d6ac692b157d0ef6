// The state for describing the scope at a code address, and the internal functions of the files scope_*.c.
// scope_describe.c calls the functions of the other files.
#pragma once

#include "../image.h"
#include "cs_scope.h"
#include "scope_symbols.h"
#include <string.h>

#define CS_SCOPE_TYPES 64

/// A type in the description of a scope. The description refers to a type by the index in `cs_scope.types`.
struct cs_scope_type {
  Dwarf_Off offset; // offset of the type's DIE
  uint32_t steps;   // number of pointers to follow from a variable to this type
};

struct cs_scope {
  struct cs_image *image;
  uint64_t pc;
  Dwarf_CFI *frames; // NULL if the file has no call frame information
  char *text;
  size_t count;
  struct cs_scope_type types[CS_SCOPE_TYPES];
  size_t type_count;
};

/// The location of a variable: its value is register + offset, or the word in memory at the address register + offset.
struct cs_scope_location {
  int64_t offset;
  uint32_t number;
  bool is_memory;
};

// scope.c

/// Adds a line to the description. Returns false and adds nothing if the line does not fit.
bool cs_scope_add(struct cs_scope *scope, const char *format, ...) __attribute__((format(printf, 2, 3)));

// scope_location.c

/// Finds the location of a variable. Returns false if the variable was optimized out, or if its location is not a
/// register plus an offset. `function` is the innermost function that is not inlined.
bool cs_scope_locate(const struct cs_scope *scope, Dwarf_Die *variable, Dwarf_Die *function,
                     struct cs_scope_location *ret_location);

// scope_types.c

/// Returns whether a type is a pointer to anything.
bool cs_scope_is_pointer(Dwarf_Die *die);

/// Returns the index of the type to which the type `die` points, or CS_SCOPE_TYPES if `die` is not a pointer to a type
/// with members.
size_t cs_scope_pointee(struct cs_scope *scope, Dwarf_Die *die, uint32_t steps);

/// Adds to the description every type that has an index, and the types that their members refer to.
void cs_scope_add_types(struct cs_scope *scope);

// scope_swift.c

/// Adds the stored properties of the Swift class whose type has this linkage name, such as `$s4shop4CartCD`. With
/// `has_derived`, also adds the sizes of derived classes.
void cs_scope_add_swift_class(struct cs_scope *scope, const char *linkage_name, bool has_derived);

/// Adds the instance sizes of the Swift class whose descriptor has this symbol, and of its derived classes.
void cs_scope_add_named_class(struct cs_scope *scope, const struct cs_scope_symbols *symbols, const char *descriptor);

/// The number of bytes in a class's full metadata (symbol suffix "Mf") before its address point. Pointers to the
/// metadata point to the address point.
#define CS_SCOPE_METADATA_BYTES 24

/// Returns whether a symbol is the full metadata of a class.
static inline bool cs_scope_is_metadata(const char *name) {
  const size_t length = strlen(name);
  return length > 3 && strcmp(name + length - 3, "CMf") == 0;
}

// scope_code.c

/// Adds the Swift classes whose names occur in symbols that the function at the address uses. These are the function's
/// own symbol, the symbols of its callees, and the symbols of addresses that it loads. The function requires the
/// image's symbols, but no debug information.
void cs_scope_add_named_classes(struct cs_scope *scope);
