// The stored properties of Swift classes.
//
// swiftc describes a class to DWARF without its members. But the image has what reflection needs: the class's
// descriptor
// ("Mn") leads to the names of its stored properties, and its metadata ("N") has the place of each, in the file too
// unless that depends on another library's classes. Both have symbols that are named after the class, private ones as
// well. The layouts are stable: Swift's ABI.md, TypeMetadata.rst and include/swift/ABI/Metadata.h.
#include "scope.h"
#include <inttypes.h>
#include <string.h>

#define CS_SWIFT_FIELDS     256
#define CS_SWIFT_DERIVED    16   // of one class, at whatever distance
#define CS_SWIFT_CLASSES    8192 // that are looked at for them
#define CS_SWIFT_NAME_BYTES 256

/// The descriptor of a class, as far as it is needed; a reference is relative to where it stands.
struct class_descriptor {
  uint32_t flags;
  int32_t parent, name, access;
  int32_t fields;
  int32_t superclass;
  uint32_t negative_words, positive_words, own_words;
  uint32_t field_count;
  uint32_t offsets_at; // of the metadata's words
};

/// How a name of a type refers to one in the same image.
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

/// Bits of the descriptor's flags.
enum { KIND_MASK = 0x1f, KIND_CLASS = 16, IS_GENERIC = 0x80, HAS_RESILIENT_SUPERCLASS = 1 << 29 };

/// Of a type_reference: straight to a descriptor.
enum { DIRECT = 1 };

/// Of the metadata, behind its kind, its superclass, its flags and where its address points.
enum { SIZE_AT = 24, WORD = 8 };

/// The image's own table of symbols.
struct symbols {
  Elf *elf;
  Elf_Data *data;
  size_t strings; // their section
  size_t count;
};

/// Bytes that the image has at an address when it is loaded; how many of `count` the file has there in one piece.
static size_t read_at(Elf *elf, uint64_t address, void *ret_bytes, size_t count) {
  Elf_Scn *scn = NULL;
  while ((scn = elf_nextscn(elf, scn))) {
    GElf_Shdr section;
    if (!gelf_getshdr(scn, &section) || section.sh_type != SHT_PROGBITS || !(section.sh_flags & SHF_ALLOC)) continue;
    if (address < section.sh_addr || address - section.sh_addr >= section.sh_size) continue;
    const Elf_Data *data = elf_rawdata(scn, NULL);
    const uint64_t offset = address - section.sh_addr;
    if (!data || !data->d_buf || offset >= data->d_size) return 0;
    if (count > data->d_size - offset) count = data->d_size - offset;
    memcpy(ret_bytes, (const char *)data->d_buf + offset, count);
    return count;
  }
  return 0;
}

static void add_fields(struct cs_scope *scope, uint64_t descriptor_at, uint64_t metadata_at) {
  Elf *elf = scope->image->elf;
  struct class_descriptor class;
  struct field_list list;
  uint32_t size;
  if (read_at(elf, descriptor_at, &class, sizeof class) != sizeof class || (class.flags & KIND_MASK) != KIND_CLASS ||
      class.flags & (IS_GENERIC | HAS_RESILIENT_SUPERCLASS) || class.fields == 0)
    return;
  const uint64_t list_at = descriptor_at + offsetof(struct class_descriptor, fields) + (uint64_t)(int64_t)class.fields;
  if (read_at(elf, list_at, &list, sizeof list) != sizeof list || list.record_bytes != sizeof(struct field_record) ||
      list.count != class.field_count)
    return;
  if (read_at(elf, metadata_at + SIZE_AT, &size, sizeof size) == sizeof size)
    cs_scope_add(scope, "S %" PRIu32 "\n", size);
  for (uint32_t i = 0; i < list.count && i < CS_SWIFT_FIELDS; i++) {
    const uint64_t record_at = list_at + sizeof list + (uint64_t)i * sizeof(struct field_record);
    struct field_record record;
    uint64_t offset;
    char name[CS_SWIFT_NAME_BYTES];
    if (read_at(elf, record_at, &record, sizeof record) != sizeof record) return;
    if (read_at(elf, metadata_at + (class.offsets_at + (uint64_t)i) * WORD, &offset, sizeof offset) != sizeof offset)
      return;
    const uint64_t name_at = record_at + offsetof(struct field_record, name) + (uint64_t)(int64_t)record.name;
    const size_t count = read_at(elf, name_at, name, sizeof name);
    if (memchr(name, 0, count)) cs_scope_add(scope, "F %" PRIu64 " 0 - - %s\n", offset, name);
  }
}

static struct symbols symbols_of(Elf *elf) {
  struct symbols symbols = {.elf = elf};
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

/// The name of a symbol that is defined; NULL: it is not, or has none.
static const char *symbol_at(const struct symbols *symbols, size_t index, uint64_t *ret_value) {
  GElf_Sym symbol;
  if (!gelf_getsym(symbols->data, (int)index, &symbol) || symbol.st_shndx == SHN_UNDEF) return NULL;
  *ret_value = symbol.st_value;
  return elf_strptr(symbols->elf, symbols->strings, symbol.st_name);
}

/// Where descriptor and metadata of a class are, by what its symbols begin with; 0: not known.
static void find_class(const struct symbols *symbols, const char *name, size_t length, uint64_t *ret_descriptor_at,
                       uint64_t *ret_metadata_at) {
  *ret_descriptor_at = *ret_metadata_at = 0;
  for (size_t i = 1; i < symbols->count; i++) {
    uint64_t value;
    const char *symbol = symbol_at(symbols, i, &value);
    if (!symbol || strncmp(symbol, name, length) != 0) continue;
    if (strcmp(symbol + length, "Mn") == 0) *ret_descriptor_at = value;
    if (strcmp(symbol + length, "N") == 0) *ret_metadata_at = value;
  }
}

/// The descriptor of the class that this one is derived from; 0: there is none in this image.
static uint64_t superclass_of(Elf *elf, uint64_t descriptor_at) {
  struct class_descriptor class;
  struct type_reference reference;
  if (read_at(elf, descriptor_at, &class, sizeof class) != sizeof class || (class.flags & KIND_MASK) != KIND_CLASS ||
      class.flags & (IS_GENERIC | HAS_RESILIENT_SUPERCLASS) || class.superclass == 0)
    return 0;
  const uint64_t at =
      descriptor_at + offsetof(struct class_descriptor, superclass) + (uint64_t)(int64_t)class.superclass;
  if (read_at(elf, at, &reference, sizeof reference) != sizeof reference || reference.control != DIRECT) return 0;
  return at + offsetof(struct type_reference, to) + (uint64_t)(int64_t)reference.to;
}

/// Adds how large objects of the classes are that are derived from one, as far as the image has them.
static void add_derived(struct cs_scope *scope, const struct symbols *symbols, uint64_t descriptor_at) {
  uint64_t found[1 + CS_SWIFT_DERIVED] = {descriptor_at};
  size_t count = 1, looked_at = 0;
  // Round by round, each for the classes that are derived from one of the round before.
  for (size_t known = 0; known < count && count <= CS_SWIFT_DERIVED;) {
    const size_t begin = known, end = known = count;
    for (size_t i = 1; i < symbols->count && count <= CS_SWIFT_DERIVED && looked_at < CS_SWIFT_CLASSES; i++) {
      uint64_t value, metadata_at, derived_at;
      const char *name = symbol_at(symbols, i, &value);
      const size_t length = name && name[0] == '$' ? strlen(name) : 0;
      if (length < 4 || strcmp(name + length - 3, "CMn") != 0) continue;
      looked_at++;
      const uint64_t base_at = superclass_of(symbols->elf, value);
      bool is_derived = false;
      for (size_t base = begin; base_at != 0 && base < end; base++)
        is_derived |= found[base] == base_at;
      if (!is_derived) continue;
      found[count++] = value;
      uint32_t size;
      find_class(symbols, name, length - 2, &derived_at, &metadata_at);
      if (metadata_at != 0 && read_at(symbols->elf, metadata_at + SIZE_AT, &size, sizeof size) == sizeof size)
        cs_scope_add(scope, "U %" PRIu32 "\n", size);
    }
  }
}

void cs_scope_add_swift_class(struct cs_scope *scope, const char *linkage_name, bool has_derived) {
  // Without its last letter, and the two that make it optional, it is what the names of all that belongs to the class
  // begin with.
  size_t length = strlen(linkage_name) - 1;
  if (length > 2 && strncmp(linkage_name + length - 2, "Sg", 2) == 0) length -= 2;
  const struct symbols symbols = symbols_of(scope->image->elf);
  uint64_t descriptor_at, metadata_at;
  find_class(&symbols, linkage_name, length, &descriptor_at, &metadata_at);
  if (descriptor_at == 0 || metadata_at == 0) return;
  add_fields(scope, descriptor_at, metadata_at);
  if (has_derived) add_derived(scope, &symbols, descriptor_at);
}
