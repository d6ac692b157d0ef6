// Determines the values with which the policy zero fills the fields of an object: the empty value of each field's type.
// For numbers, optionals and most enums, the empty value consists of zero bytes. The empty value of an array, a set, a
// dictionary or a string is not zero. That of a collection points to a singleton of the standard library. A reference,
// a closure and an existential have no empty value: a field of such a type keeps the value that the deinit left, as it
// would without the quarantine.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <stdlib.h>
#include <string.h>

#include "class.h"

#define DEPTH_LIMIT 8   // the maximum depth of nested structs
#define WORDS_LIMIT 512 // the maximum number of words of an object; the fields of larger objects are filled with zeros

// The kinds of Swift metadata that this code handles.
#define KIND_STRUCT   0x200
#define KIND_ENUM     0x201
#define KIND_OPTIONAL 0x202
#define KIND_OPAQUE   0x300
#define KIND_TUPLE    0x301

// Indices of 32-bit words in the descriptor of a type.
#define DESCRIPTOR_FIELDS 4
#define DESCRIPTOR_CASES  5 // for an enum; the lower three bytes contain the number of cases with a payload

// Indices in the value witness table of a type.
#define WITNESS_SIZE     8
#define WITNESS_FLAGS    10
#define WITNESS_ENUM_TAG 11
#define FLAG_NOT_PLAIN   UINT64_C(0x10000)  // a copy of a value requires more than copying the bytes of the value
#define FLAG_ENUM        UINT64_C(0x200000) // the witness table contains WITNESS_ENUM_TAG

typedef uint32_t enum_tag_function(const void *value, const void *type);
typedef struct child {
  const char *name;
  void (*free_name)(const char *name);
  bool is_strong;
  bool is_var;
} child;

// Functions of the Swift runtime that implement Mirror.
extern SWIFTCC intptr_t swift_reflectionMirror_recursiveCount(const void *type);
extern SWIFTCC intptr_t swift_reflectionMirror_recursiveChildOffset(const void *type, intptr_t index);
extern SWIFTCC const void *swift_reflectionMirror_recursiveChildMetadata(const void *type, intptr_t index,
                                                                         child *ret_child);

extern SWIFTCC const void *swift_getTypeByMangledNameInContext(const void *name, size_t bytes, const void *context,
                                                               const void *arguments);

// The descriptors of the types whose empty value is not zero, the metadata of raw pointers, and the singletons to which
// empty values point.
extern const uint8_t array_descriptor[] __asm__("$sSaMn");
extern const uint8_t contiguous_descriptor[] __asm__("$ss15ContiguousArrayVMn");
extern const uint8_t dictionary_descriptor[] __asm__("$sSDMn");
extern const uint8_t set_descriptor[] __asm__("$sShMn");
extern const uint8_t string_descriptor[] __asm__("$sSSMn");
extern const uint8_t raw_pointer_metadata[] __asm__("$sBpN");
extern const uint8_t _swiftEmptyArrayStorage[], _swiftEmptyDictionarySingleton[], _swiftEmptySetSingleton[];
#define EMPTY_STRING_WORD UINT64_C(0xE000000000000000) // the second word of an empty String

typedef struct planning {
  const cs_class *class;
  cs_empty_word *words; // the words of an object, from the first field of the class on
  uint32_t count;
} planning;

static const uint64_t *witnesses_of(const void *type) {
  return (const uint64_t *)(uintptr_t)((const uint64_t *)type)[-1];
}

static bool is_plain(const void *type) {
  return ((uint32_t)witnesses_of(type)[WITNESS_FLAGS] & FLAG_NOT_PLAIN) == 0;
}

static void set_word(planning *planning, uint64_t offset, uint64_t value) {
  const uint64_t word = offset / 8 - planning->class->first_field;
  if (offset % 8 == 0 && offset / 8 >= planning->class->first_field && word < planning->count)
    planning->words[word].value = value;
}

static void leave(planning *planning, uint64_t offset, uint64_t bytes) {
  const uint64_t first = planning->class->first_field * UINT64_C(8);
  for (uint64_t at = offset; at < offset + bytes; at++)
    if (at >= first && (at - first) / 8 < planning->count)
      planning->words[(at - first) / 8].kept |= UINT64_C(0xFF) << (at - first) % 8 * 8;
}

// The description of one field of a type or of one case of an enum. Cases with a payload come first.
typedef struct field_record {
  uint32_t flags;
  int32_t type_name; // offset relative to this field; 0: there is no such string
  int32_t name;
} field_record;

typedef struct field_descriptor {
  int32_t type_name;
  int32_t superclass;
  uint16_t kind;
  uint16_t record_bytes;
  uint32_t count;
  field_record records[];
} field_descriptor;

// Returns the length of a mangled type name. A zero byte ends the name, but not inside a reference. A reference
// consists of a byte below 0x20 and four or eight more bytes, which can be zero.
static size_t name_bytes(const uint8_t *name) {
  size_t bytes = 0;
  while (name[bytes] != 0)
    bytes += name[bytes] >= 0x20 ? 1 : name[bytes] >= 0x18 ? 9 : 5;
  return bytes;
}

// Returns the type of the payload of an enum case. Returns NULL if the program contains no field descriptions, or if
// the type depends on unknown generic arguments.
static const void *payload_type(const void *type, const int32_t *descriptor, uint32_t number) {
  const int32_t *const at = &descriptor[DESCRIPTOR_FIELDS];
  const field_descriptor *const fields = (const void *)((const uint8_t *)at + *at);
  if (*at == 0 || number >= fields->count || fields->record_bytes != sizeof(field_record)) return NULL;
  const int32_t *const name_at = &fields->records[number].type_name;
  if (*name_at == 0) return NULL;
  const uint8_t *const name = (const uint8_t *)name_at + *name_at;
  // The arguments of a generic type are stored after the first two words of the type's metadata.
  return swift_getTypeByMangledNameInContext(name, name_bytes(name), descriptor, (const uint64_t *)type + 2);
}

// Returns whether zero bytes are a valid value of an enum: they represent a case without a payload, or with a payload
// that has no references.
static bool is_zero_a_value(const void *type) {
  if (is_plain(type)) return true;
  static const uint64_t zeros[32];
  const uint64_t *const witnesses = witnesses_of(type);
  const int32_t *const descriptor = (const int32_t *)(uintptr_t)((const uint64_t *)type)[1];
  if (((uint32_t)witnesses[WITNESS_FLAGS] & FLAG_ENUM) == 0 || witnesses[WITNESS_SIZE] > sizeof zeros) return false;
  const uint32_t payload_cases = (uint32_t)descriptor[DESCRIPTOR_CASES] & 0xFFFFFF;
  const uint32_t tag = ((enum_tag_function *)(uintptr_t)witnesses[WITNESS_ENUM_TAG])(zeros, type);
  if (tag >= payload_cases) return true;
  const void *const payload = payload_type(type, descriptor, tag);
  return payload != NULL && is_plain(payload);
}

// Returns whether the type's descriptor refers to field descriptions. The compiler option -disable-reflection-metadata
// omits them, and the runtime's functions would then print a warning.
static bool has_fields(const void *descriptor) {
  return ((const int32_t *)descriptor)[DESCRIPTOR_FIELDS] != 0;
}

static void plan_type(planning *planning, const void *type, uint64_t offset, uint32_t depth);

static void plan_fields(planning *planning, const void *type, uint64_t offset, uint32_t depth) {
  const intptr_t count = swift_reflectionMirror_recursiveCount(type);
  for (intptr_t index = 0; index < count; index++) {
    child child = {0};
    const void *const field = swift_reflectionMirror_recursiveChildMetadata(type, index, &child);
    if (child.free_name != NULL) child.free_name(child.name);
    const intptr_t at = swift_reflectionMirror_recursiveChildOffset(type, index);
    if (field != NULL && at >= 0) plan_type(planning, field, offset + (uint64_t)at, depth);
  }
}

static void plan_struct(planning *planning, const void *type, uint64_t offset, uint32_t depth) {
  const void *const descriptor = (const void *)(uintptr_t)((const uint64_t *)type)[1];
  if (descriptor == array_descriptor || descriptor == contiguous_descriptor) {
    set_word(planning, offset, (uintptr_t)_swiftEmptyArrayStorage);
  } else if (descriptor == dictionary_descriptor) {
    set_word(planning, offset, (uintptr_t)_swiftEmptyDictionarySingleton);
  } else if (descriptor == set_descriptor) {
    set_word(planning, offset, (uintptr_t)_swiftEmptySetSingleton);
  } else if (descriptor == string_descriptor) {
    set_word(planning, offset + 8, EMPTY_STRING_WORD);
  } else if (depth < DEPTH_LIMIT && has_fields(descriptor) && swift_reflectionMirror_recursiveCount(type) > 0) {
    plan_fields(planning, type, offset, depth + 1);
  } else if (!is_plain(type)) {
    leave(planning, offset, witnesses_of(type)[WITNESS_SIZE]);
  }
}

static void plan_type(planning *planning, const void *type, uint64_t offset, uint32_t depth) {
  const uint64_t kind = *(const uint64_t *)type;
  bool is_left = false;
  if (kind == KIND_STRUCT) return plan_struct(planning, type, offset, depth);
  if (kind == KIND_ENUM || kind == KIND_OPTIONAL) {
    is_left = !is_zero_a_value(type);
  } else if (kind == KIND_OPAQUE) {
    is_left = type == raw_pointer_metadata || !is_plain(type);
  } else if (kind == KIND_TUPLE) {
    is_left = !is_plain(type);
  } else {
    // All other types have no empty value: classes, existentials, functions and metatypes.
    is_left = true;
  }
  // For a class, the value witnesses describe a reference to an object, so WITNESS_SIZE is the size of a reference.
  if (is_left) leave(planning, offset, witnesses_of(type)[WITNESS_SIZE]);
}

bool cs_empties_make(cs_class *class) {
  for (const cs_metadata *metadata = class->metadata; metadata != NULL; metadata = metadata->superclass)
    if (!has_fields(metadata->descriptor)) return true;
  const uint32_t count = class->filled_end - class->first_field + (class->tail_mask != 0);
  if (count == 0 || count > WORDS_LIMIT) return true;
  cs_empty_word *const words = calloc(count, sizeof *words);
  if (words == NULL) return false;
  planning planning = {.class = class, .words = words, .count = count};
  plan_fields(&planning, class->metadata, 0, 0);
  if (class->tail_mask != 0) words[count - 1].kept |= ~class->tail_mask;
  bool is_all_zero = true;
  for (uint32_t index = 0; index < count; index++) {
    const uint64_t own = index == count - 1 && class->tail_mask != 0 ? ~class->tail_mask : 0;
    if (words[index].value != 0 || words[index].kept != own) is_all_zero = false;
  }
  if (is_all_zero) {
    free(words);
    return true;
  }
  class->empties = words;
  return true;
}

void cs_empties_fill(const cs_class *class, cs_object *object) {
  uint64_t *word = (uint64_t *)object + class->first_field;
  const cs_empty_word *empty = class->empties;
  const uint64_t *const end = (const uint64_t *)object + class->filled_end + (class->tail_mask != 0);
  for (; word < end; word++, empty++)
    *word = (*word & empty->kept) | empty->value;
}

bool cs_empties_are(const cs_class *class, const cs_object *object) {
  const uint64_t *word = (const uint64_t *)object + class->first_field;
  const cs_empty_word *empty = class->empties;
  const uint64_t *const end = (const uint64_t *)object + class->audited_end;
  uint64_t differences = 0;
  for (; word < end; word++, empty++)
    differences |= (*word ^ empty->value) & ~empty->kept;
  return differences == 0;
}

#endif
