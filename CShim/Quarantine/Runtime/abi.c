// Finds the methods in the vtable of a class. The descriptors of the class and of its superclasses list them.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "abi.h"

#include <stddef.h>

// The value witness table that each native Swift class has. cs_quarantine_check also checks that native classes have
// this table.
extern const char value_witnesses_of_native_objects[] __asm__("$sBoWV");

#define DESCRIPTOR_KIND_MASK      UINT32_C(0x1F)
#define DESCRIPTOR_KIND_CLASS     UINT32_C(16)
#define DESCRIPTOR_IS_GENERIC     (UINT32_C(1) << 7)
#define DESCRIPTOR_INITIALIZATION (UINT32_C(3) << 16) // 0: none, 1: singleton, 2: foreign
#define DESCRIPTOR_MEMBERS_BELOW  (UINT32_C(1) << 28)
#define DESCRIPTOR_RESILIENT      (UINT32_C(1) << 29) // has a superclass whose size is unknown at compile time
#define DESCRIPTOR_HAS_VTABLE     (UINT32_C(1) << 31)

#define METHOD_KIND_MASK UINT32_C(0x0F) // 0: method, 1: init, 2: getter, 3: setter, 4: modify, 5: read
#define METHOD_INSTANCE  UINT32_C(0x10)
#define METHOD_ASYNC     UINT32_C(0x40)
// The method is a callee-allocated coroutine, which has a calling convention of its own. Its vtable word points to data
// and not to code.
#define METHOD_CALLEE_ALLOCATES UINT32_C(0x100)

#define CLASS_DESCRIPTOR_BYTES 44
#define SUPERCLASSES_MAX       64
#define METHODS_MAX            4096

typedef struct method_descriptor {
  uint32_t flags;
  int32_t implementation; // offset of the method's code relative to this field; 0: the optimizer removed the method
} method_descriptor;

typedef struct vtable {
  uint32_t word;
  uint32_t count;
  const method_descriptor *methods;
} vtable;

#define DESCRIPTOR_DEFAULT_ACTOR (UINT32_C(1) << 24)
#define DEFAULT_ACTOR_WORDS      12

static uint32_t at(const uint8_t *bytes, uint32_t offset) {
  return *(const uint32_t *)((uintptr_t)bytes + offset);
}

bool cs_metadata_is_class(const cs_metadata *metadata, uint32_t descriptor_flags) {
  const uint64_t *const words = cs_metadata_words(metadata);
  return metadata->kind == 0 && words[-1] == (uintptr_t)value_witnesses_of_native_objects &&
         metadata->descriptor != NULL && (descriptor_flags & DESCRIPTOR_KIND_MASK) == DESCRIPTOR_KIND_CLASS &&
         metadata->instance_address_point == 0 && metadata->instance_size >= sizeof(cs_object) &&
         metadata->class_address_point % 8 == 0 &&
         metadata->class_size > metadata->class_address_point + sizeof *metadata - 8;
}

uint32_t cs_metadata_own_words(const cs_metadata *metadata) {
  uint32_t depth = 0;
  for (const cs_metadata *owner = metadata; owner != NULL && depth < SUPERCLASSES_MAX; owner = owner->superclass) {
    if (owner->descriptor != NULL && (at(owner->descriptor, 0) & DESCRIPTOR_DEFAULT_ACTOR) != 0)
      return DEFAULT_ACTOR_WORDS;
    depth++;
  }
  return 0;
}

// Skips the parts of a class descriptor that precede its vtable descriptor. Returns false if the descriptor has a part
// of an unknown kind.
static bool skip_to_vtable(const uint8_t *descriptor, uint32_t *ret_offset) {
  const uint32_t flags = at(descriptor, 0);
  uint32_t offset = CLASS_DESCRIPTOR_BYTES;
  if ((flags & DESCRIPTOR_IS_GENERIC) != 0) {
    const uint16_t *const header = (const uint16_t *)((uintptr_t)descriptor + offset + 8);
    const uint32_t parameters = header[0], requirements = header[1];
    if (header[3] != 0) return false; // the layout is unknown, for example with parameter packs
    offset += 16 + ((parameters + 3) & ~UINT32_C(3)) + requirements * 12;
  }
  if ((flags & DESCRIPTOR_RESILIENT) != 0) offset += 4;
  switch ((flags & DESCRIPTOR_INITIALIZATION) >> 16) {
  case 0:
    break;
  case 1:
    offset += 12;
    break;
  default:
    return false;
  }
  *ret_offset = offset;
  return true;
}

// Finds the vtable descriptor of a class. Returns false if the layout of the class descriptor is unknown. If the class
// has no methods, the count is 0.
static bool find_vtable(const uint8_t *descriptor, vtable *ret_vtable) {
  const uint32_t flags = at(descriptor, 0);
  *ret_vtable = (vtable){0};
  if ((flags & DESCRIPTOR_HAS_VTABLE) == 0) return true;
  uint32_t offset = 0;
  if ((flags & DESCRIPTOR_MEMBERS_BELOW) != 0 || !skip_to_vtable(descriptor, &offset)) return false;
  uint64_t word = at(descriptor, offset);
  const uint32_t count = at(descriptor, offset + 4);
  if ((flags & DESCRIPTOR_RESILIENT) != 0) {
    // The offset of the vtable depends on the size of the superclass's metadata, which is not known at compile time.
    // The runtime stores this size at the address `bounds`.
    const uint8_t *const bounds = descriptor + 24 + (int32_t)at(descriptor, 24);
    word += *(const uint64_t *)(uintptr_t)bounds / 8;
  }
  if (word > UINT32_MAX / 2 || count > METHODS_MAX) return false;
  *ret_vtable = (vtable){(uint32_t)word, count, (const method_descriptor *)((uintptr_t)descriptor + offset + 8)};
  return true;
}

static uint64_t implementation(const method_descriptor *method) {
  if (method->implementation == 0) return 0;
  return (uint64_t)((intptr_t)&method->implementation + method->implementation);
}

// Visits the methods that the class `owner` introduced, and returns how many were skipped. The word of a method in the
// owner's metadata must contain the address in its method descriptor. If it does not, the layout is unknown, and the
// method is skipped.
static uint32_t visit_own(const cs_metadata *owner, uint32_t words, cs_method_visitor *visitor, void *context) {
  vtable table;
  if (owner->descriptor == NULL || !find_vtable(owner->descriptor, &table)) return 1;
  uint32_t left_out = 0;
  for (uint32_t index = 0; index < table.count; index++) {
    const method_descriptor *const method = &table.methods[index];
    const uint32_t word = table.word + index, kind = method->flags & METHOD_KIND_MASK;
    const bool is_async = (method->flags & METHOD_ASYNC) != 0, yields = kind == 4 || kind == 5;
    // Ignores methods that are called on the type itself, because these calls do not use an object.
    if ((method->flags & METHOD_INSTANCE) == 0 || kind == 1 || method->implementation == 0) continue;
    if (kind > 5 || (method->flags & METHOD_CALLEE_ALLOCATES) != 0 || (is_async && yields) || word >= words ||
        cs_metadata_words(owner)[word] != implementation(method)) {
      left_out++;
      continue;
    }
    visitor((cs_method){word, is_async, yields}, context);
  }
  return left_out;
}

uint32_t cs_metadata_visit_methods(const cs_metadata *metadata, cs_method_visitor *visitor, void *context) {
  const uint32_t words = (metadata->class_size - metadata->class_address_point) / 8;
  uint32_t left_out = 0, depth = 0;
  for (const cs_metadata *owner = metadata; owner != NULL && depth < SUPERCLASSES_MAX; owner = owner->superclass) {
    left_out += visit_own(owner, words, visitor, context);
    depth++;
  }
  return left_out;
}

#endif
