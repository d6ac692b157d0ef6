// Reads the stored properties of Swift classes from their reflection metadata.
//
// swiftc's DWARF describes a class without its members. However, the image contains reflection metadata. The descriptor
// of a class (symbol suffix "Mn") refers to the names of its stored properties. The metadata of the class (symbol
// suffix "N") contains the offset of each property. The offsets in the file are valid, unless the layout depends on
// classes of other libraries. The symbols of descriptor and metadata begin with the name of the class, also for private
// classes. The layouts of descriptor and metadata are stable, as specified in Swift's ABI.md, TypeMetadata.rst and
// include/swift/ABI/Metadata.h.
#include "scope.h"
#include "scope_machine.h"
#include "scope_symbols.h"
#include <inttypes.h>
#include <string.h>

#define CS_SWIFT_FIELDS     256
#define CS_SWIFT_DERIVED    16   // the maximum number of derived classes of one class, direct and indirect
#define CS_SWIFT_CLASSES    8192 // the maximum number of classes that are examined in the search for derived classes
#define CS_SWIFT_NAME_BYTES 256

/// The beginning of a class descriptor. Each int32_t member is a relative reference: an offset from the address of the
/// member.
struct class_descriptor {
  uint32_t flags;
  int32_t parent, name, access;
  int32_t fields;
  int32_t superclass;
  uint32_t negative_words, positive_words, own_words;
  uint32_t field_count;
  uint32_t offsets_at; // index of the word in the metadata where the field offsets begin
};

/// A reference in the name of a type to another type of the same image.
struct type_reference {
  uint8_t control;
  int32_t to;
} __attribute__((packed));

struct field_list {
  int32_t type, superclass;
  uint16_t kind, record_bytes;
  uint32_t count;
};

struct field_record {
  uint32_t flags;
  int32_t type;
  int32_t name;
};

_Static_assert(sizeof(struct class_descriptor) == 44, "the beginning of a TargetClassDescriptor");
_Static_assert(sizeof(struct field_list) == 16, "a FieldDescriptor");
_Static_assert(sizeof(struct field_record) == 12, "a FieldRecord");

/// Bits in the flags of a descriptor.
enum { KIND_MASK = 0x1f, KIND_CLASS = 16, IS_GENERIC = 0x80, HAS_RESILIENT_SUPERCLASS = 1 << 29 };

/// The kind of a type_reference that refers directly to a descriptor.
enum { DIRECT = 1 };

/// Offsets in the metadata of a class. The instance size is at SIZE_AT, after the kind, the superclass, the flags and
/// the instance address point.
enum { SIZE_AT = 24, WORD = 8 };

/// The size of an object's header. If the instance size in the file is smaller than the header, the file does not
/// contain the real size, which only the runtime computes.
enum { OBJECT_BYTES = 16 };

static void add_fields(struct cs_scope *scope, uint64_t descriptor_at, uint64_t metadata_at) {
  Elf *elf = scope->image->elf;
  struct class_descriptor class;
  struct field_list list;
  uint32_t size;
  if (cs_scope_read(elf, descriptor_at, &class, sizeof class) != sizeof class ||
      (class.flags & KIND_MASK) != KIND_CLASS || class.flags & (IS_GENERIC | HAS_RESILIENT_SUPERCLASS) ||
      class.fields == 0)
    return;
  const uint64_t list_at = descriptor_at + offsetof(struct class_descriptor, fields) + (uint64_t)(int64_t)class.fields;
  if (cs_scope_read(elf, list_at, &list, sizeof list) != sizeof list ||
      list.record_bytes != sizeof(struct field_record) || list.count != class.field_count)
    return;
  if (cs_scope_read(elf, metadata_at + SIZE_AT, &size, sizeof size) == sizeof size && size >= OBJECT_BYTES)
    cs_scope_add(scope, "S %" PRIu32 "\n", size);
  for (uint32_t i = 0; i < list.count && i < CS_SWIFT_FIELDS; i++) {
    const uint64_t record_at = list_at + sizeof list + (uint64_t)i * sizeof(struct field_record);
    struct field_record record;
    uint64_t offset;
    char name[CS_SWIFT_NAME_BYTES];
    if (cs_scope_read(elf, record_at, &record, sizeof record) != sizeof record) return;
    if (cs_scope_read(elf, metadata_at + (class.offsets_at + (uint64_t)i) * WORD, &offset, sizeof offset) !=
        sizeof offset)
      return;
    const uint64_t name_at = record_at + offsetof(struct field_record, name) + (uint64_t)(int64_t)record.name;
    const size_t count = cs_scope_read(elf, name_at, name, sizeof name);
    if (memchr(name, 0, count)) cs_scope_add(scope, "F %" PRIu64 " 0 - - %s\n", offset, name);
  }
}

/// Finds the descriptor and the metadata of a class by the common prefix of their symbols. 0 means unknown.
static void find_class(const struct cs_scope_symbols *symbols, const char *name, size_t length,
                       uint64_t *ret_descriptor_at, uint64_t *ret_metadata_at) {
  *ret_descriptor_at = *ret_metadata_at = 0;
  for (size_t i = 1; i < symbols->count; i++) {
    GElf_Sym entry;
    const char *symbol = cs_scope_symbol(symbols, i, &entry);
    if (!symbol || strncmp(symbol, name, length) != 0) continue;
    if (strcmp(symbol + length, "Mn") == 0) *ret_descriptor_at = entry.st_value;
    if (strcmp(symbol + length, "N") == 0) *ret_metadata_at = entry.st_value;
    // In optimized code, the metadata of a private class has only the symbol of the full metadata ("Mf").
    if (*ret_metadata_at == 0 && strcmp(symbol + length, "Mf") == 0)
      *ret_metadata_at = entry.st_value + CS_SCOPE_METADATA_BYTES;
  }
}

/// Returns the descriptor of the superclass, or 0 if the superclass is not in this image.
static uint64_t superclass_of(Elf *elf, uint64_t descriptor_at) {
  struct class_descriptor class;
  struct type_reference reference;
  if (cs_scope_read(elf, descriptor_at, &class, sizeof class) != sizeof class ||
      (class.flags & KIND_MASK) != KIND_CLASS || class.flags & (IS_GENERIC | HAS_RESILIENT_SUPERCLASS) ||
      class.superclass == 0)
    return 0;
  const uint64_t at =
      descriptor_at + offsetof(struct class_descriptor, superclass) + (uint64_t)(int64_t)class.superclass;
  if (cs_scope_read(elf, at, &reference, sizeof reference) != sizeof reference || reference.control != DIRECT) return 0;
  return at + offsetof(struct type_reference, to) + (uint64_t)(int64_t)reference.to;
}

/// Adds the instance sizes of the derived classes that the image contains.
static void add_derived(struct cs_scope *scope, const struct cs_scope_symbols *symbols, uint64_t descriptor_at,
                        char letter) {
  uint64_t found[1 + CS_SWIFT_DERIVED] = {descriptor_at};
  size_t count = 1, looked_at = 0;
  // Each iteration adds the subclasses of the classes that the previous iteration added.
  for (size_t known = 0; known < count && count <= CS_SWIFT_DERIVED;) {
    const size_t begin = known, end = known = count;
    for (size_t i = 1; i < symbols->count && count <= CS_SWIFT_DERIVED && looked_at < CS_SWIFT_CLASSES; i++) {
      uint64_t metadata_at, derived_at;
      GElf_Sym symbol;
      const char *name = cs_scope_symbol(symbols, i, &symbol);
      const size_t length = name && name[0] == '$' ? strlen(name) : 0;
      if (length < 4 || strcmp(name + length - 3, "CMn") != 0) continue;
      looked_at++;
      const uint64_t base_at = superclass_of(symbols->elf, symbol.st_value);
      bool is_derived = false;
      for (size_t base = begin; base_at != 0 && base < end; base++)
        is_derived |= found[base] == base_at;
      if (!is_derived) continue;
      found[count++] = symbol.st_value;
      uint32_t size;
      find_class(symbols, name, length - 2, &derived_at, &metadata_at);
      if (metadata_at != 0 && cs_scope_read(symbols->elf, metadata_at + SIZE_AT, &size, sizeof size) == sizeof size &&
          size >= OBJECT_BYTES)
        cs_scope_add(scope, "%c %" PRIu32 "\n", letter, size);
    }
  }
}

/// Returns the constant size that the deallocating deinit of a class passes to the runtime. Returns 0 if the deinit
/// does not pass a constant.
///
/// For a generic class, only the deinit contains the size, and only if the size does not depend on the type parameters.
static uint32_t deallocated_size(const struct cs_scope_symbols *symbols, const char *name, size_t length) {
  for (size_t i = 1; i < symbols->count; i++) {
    GElf_Sym symbol;
    const char *other = cs_scope_symbol(symbols, i, &symbol);
    if (!other || strncmp(other, name, length) != 0 || strcmp(other + length, "fD") != 0) continue;
    size_t count;
    const uint8_t *code = cs_scope_bytes(symbols->elf, symbol.st_value, &count);
    if (!code) return 0;
    return cs_machine_deallocated(symbols->elf, code, count < symbol.st_size ? count : symbol.st_size);
  }
  return 0;
}

/// Returns the instance size of a class that is not generic, or 0 if the image does not contain the size.
static uint32_t size_of(Elf *elf, uint64_t descriptor_at, uint64_t metadata_at) {
  struct class_descriptor class;
  uint32_t size;
  if (descriptor_at == 0 || metadata_at == 0 ||
      cs_scope_read(elf, descriptor_at, &class, sizeof class) != sizeof class ||
      (class.flags & KIND_MASK) != KIND_CLASS || class.flags & (IS_GENERIC | HAS_RESILIENT_SUPERCLASS) ||
      cs_scope_read(elf, metadata_at + SIZE_AT, &size, sizeof size) != sizeof size)
    return 0;
  return size;
}

static bool is_generic(Elf *elf, uint64_t descriptor_at) {
  struct class_descriptor class;
  return descriptor_at != 0 && cs_scope_read(elf, descriptor_at, &class, sizeof class) == sizeof class &&
         (class.flags & KIND_MASK) == KIND_CLASS && class.flags & IS_GENERIC;
}

void cs_scope_add_named_class(struct cs_scope *scope, const struct cs_scope_symbols *symbols, const char *descriptor) {
  const size_t length = strlen(descriptor) - 2;
  uint64_t descriptor_at, metadata_at;
  find_class(symbols, descriptor, length, &descriptor_at, &metadata_at);
  uint32_t size = size_of(symbols->elf, descriptor_at, metadata_at);
  if (size == 0 && is_generic(symbols->elf, descriptor_at)) size = deallocated_size(symbols, descriptor, length);
  if (size < OBJECT_BYTES || length > CS_SCOPE_TEXT_BYTES) return;
  if (!cs_scope_add(scope, "C %" PRIu32 " %.*sD\n", size, (int)length, descriptor)) return;
  add_derived(scope, symbols, descriptor_at, 'D');
}

void cs_scope_add_swift_class(struct cs_scope *scope, const char *linkage_name, bool has_derived) {
  // The common prefix of all symbols of the class is the linkage name without its last letter `D`, and without `Sg`,
  // which marks an optional.
  size_t length = strlen(linkage_name) - 1;
  if (length > 2 && strncmp(linkage_name + length - 2, "Sg", 2) == 0) length -= 2;
  const struct cs_scope_symbols symbols = cs_scope_symbols_of(scope->image->elf);
  uint64_t descriptor_at, metadata_at;
  find_class(&symbols, linkage_name, length, &descriptor_at, &metadata_at);
  if (descriptor_at == 0 || metadata_at == 0) return;
  add_fields(scope, descriptor_at, metadata_at);
  if (has_derived) add_derived(scope, &symbols, descriptor_at, 'U');
}
