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
  // Of the metadata, behind its kind, its superclass, its flags and where its address points.
  enum { SIZE_AT = 24, WORD = 8 };
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

void cs_scope_add_swift_class(struct cs_scope *scope, const char *linkage_name) {
  Elf *elf = scope->image->elf;
  // Without its last letter, and the two that make it optional, it is what the names of all that belongs to the class
  // begin with.
  size_t length = strlen(linkage_name) - 1;
  if (length > 2 && strncmp(linkage_name + length - 2, "Sg", 2) == 0) length -= 2;
  GElf_Shdr section;
  Elf_Scn *scn = NULL;
  while ((scn = elf_nextscn(elf, scn))) {
    if (gelf_getshdr(scn, &section) && section.sh_type == SHT_SYMTAB) break;
  }
  Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
  if (!data || data->d_type != ELF_T_SYM) return;
  uint64_t descriptor_at = 0, metadata_at = 0;
  const size_t count = data->d_size / sizeof(Elf64_Sym);
  for (size_t i = 1; i < count && i < INT32_MAX; i++) {
    GElf_Sym symbol;
    if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_shndx == SHN_UNDEF) continue;
    const char *name = elf_strptr(elf, section.sh_link, symbol.st_name);
    if (!name || strncmp(name, linkage_name, length) != 0) continue;
    if (strcmp(name + length, "Mn") == 0) descriptor_at = symbol.st_value;
    if (strcmp(name + length, "N") == 0) metadata_at = symbol.st_value;
  }
  if (descriptor_at != 0 && metadata_at != 0) add_fields(scope, descriptor_at, metadata_at);
}
