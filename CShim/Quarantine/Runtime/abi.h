// The parts of Swift's stable ABI for classes that the quarantine relies on (Linux, without Objective-C).
#ifndef CS_QUARANTINE_ABI_H
#define CS_QUARANTINE_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SWIFTCC   __attribute__((swiftcall))
#define SWIFTSELF __attribute__((swift_context))

typedef SWIFTCC void cs_destroy_function(SWIFTSELF void *object);

extern void *swift_unownedRetain(void *object);
extern void swift_unownedRelease(void *object);
extern void *swift_slowAlloc(size_t size, size_t align_mask);
extern void swift_slowDealloc(void *object, size_t size, size_t align_mask);

// The words of class metadata, from the address to which an object points. The two words before this address are the
// destroy function and the address of the value witness table.
typedef struct cs_metadata {
  uint64_t kind; // 0: the metadata is that of a class
  const struct cs_metadata *superclass;
  uint32_t flags;
  uint32_t instance_address_point;
  uint32_t instance_size;
  uint16_t instance_align_mask;
  uint16_t reserved;
  uint32_t class_size;
  uint32_t class_address_point;
  const uint8_t *descriptor;
  const void *ivar_destroyer;
} cs_metadata;

_Static_assert(offsetof(cs_metadata, instance_size) == 24, "after kind, superclass and flags");
_Static_assert(offsetof(cs_metadata, descriptor) == 40, "word 5");

typedef struct cs_object {
  const cs_metadata *metadata; // atomic
  uint64_t counts;             // atomic
  uint64_t fields[];
} cs_object;

// The reference counts, which are in word 1 of an object or in its side table.
#define CS_COUNTS_UNOWNED_SHIFT 1
#define CS_COUNTS_UNOWNED_MASK  (UINT64_C(0x7FFFFFFF) << CS_COUNTS_UNOWNED_SHIFT)
#define CS_COUNTS_DEINITING     (UINT64_C(1) << 32)
#define CS_COUNTS_STRONG_SHIFT  33
#define CS_COUNTS_STRONG_MASK   (UINT64_C(0x3FFFFFFF) << CS_COUNTS_STRONG_SHIFT)
#define CS_COUNTS_SIDE_TABLE    (UINT64_C(3) << 62)
#define CS_COUNTS_IMMORTAL      UINT64_C(0xFFFFFFFF)
// The counts when the runtime calls the destroy function for the last release of an object that has no weak and no
// unowned references: the flag "deiniting", the object's unowned reference to itself, and the flag PureSwiftDealloc.
#define CS_COUNTS_LAST (CS_COUNTS_DEINITING | UINT64_C(1) << CS_COUNTS_UNOWNED_SHIFT | 1)

// Returns the address of an object's counts. The counts are in word 1 of the object, or in the side table that the
// first weak reference creates.
static inline uint64_t *cs_object_counts(cs_object *object) {
  const uint64_t counts = __atomic_load_n(&object->counts, __ATOMIC_ACQUIRE);
  if ((counts & CS_COUNTS_SIDE_TABLE) != CS_COUNTS_SIDE_TABLE) return &object->counts;
  return (uint64_t *)(uintptr_t)(((counts & ~CS_COUNTS_SIDE_TABLE) << 3) + 16);
}

// The number that the quarantine adds to the unowned count of an object to claim the object. No program has this many
// unowned references to one object.
#define CS_CLAIM        (UINT64_C(1) << 24)
#define CS_COUNTS_CLAIM (CS_CLAIM << CS_COUNTS_UNOWNED_SHIFT)

// The counts of a claimed object without other references, after its deinit.
#define CS_COUNTS_DONE (CS_COUNTS_DEINITING | CS_COUNTS_CLAIM | 1)

static inline uint64_t cs_counts_unowned(uint64_t counts) {
  return (counts & CS_COUNTS_UNOWNED_MASK) >> CS_COUNTS_UNOWNED_SHIFT;
}

static inline uint64_t cs_counts_strong(uint64_t counts) {
  return (counts & CS_COUNTS_STRONG_MASK) >> CS_COUNTS_STRONG_SHIFT;
}

static inline cs_destroy_function **cs_metadata_destroy(const cs_metadata *metadata) {
  return (cs_destroy_function **)(uintptr_t)metadata - 2;
}

static inline const uint64_t *cs_metadata_words(const cs_metadata *metadata) {
  return (const uint64_t *)metadata;
}

// Returns whether this is the metadata of a native class. Checks the words of the metadata and the first word of its
// descriptor. `metadata` is the address to which objects point. It can be in a copy of the metadata, which must include
// the two words before this address.
bool cs_metadata_is_class(const cs_metadata *metadata, uint32_t descriptor_flags);

// A method in the vtable. In the metadata of the class that introduced it, its word and its descriptor refer to the
// same code. A subclass can override it.
typedef struct cs_method {
  uint32_t word; // index of the word in the metadata
  bool is_async; // whether the word points to an async function pointer, and not to code
  bool yields;   // whether it is a coroutine, which also returns a continuation, so that the call cannot return zero
} cs_method;

typedef void cs_method_visitor(cs_method method, void *context);

// Returns the number of words at the start of an object's fields that the runtime itself uses: only actors have such
// words.
uint32_t cs_metadata_own_words(const cs_metadata *metadata);

// Visits each instance method that the class has or inherits. Returns the number of vtable words that were skipped,
// because their descriptors have an unknown form.
uint32_t cs_metadata_visit_methods(const cs_metadata *metadata, cs_method_visitor *visitor, void *context);

// types.c: stores the name "Module.Outer.Inner" of the class with this descriptor. Returns false if the class has no
// name of this form, or if the name is too long.
#define CS_NAME_BYTES 512
bool cs_type_name(const void *descriptor, char *ret_name) __attribute__((visibility("hidden")));

#endif
