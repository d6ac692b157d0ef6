// Calls a function inside the Swift runtime, while the runtime initializes the metadata of a type. Other threads that
// need this metadata wait until it is initialized. The structures are those that the compiler emits for a type whose
// layout depends on a resilient type (TargetTypeContextDescriptor in swift/ABI/Metadata.h).
#include "host.h"

#include <stddef.h>

typedef struct response {
  const void *metadata;
  size_t state;
} response;

extern response swift_getSingletonMetadata(size_t request, const void *description) __attribute__((weak));

extern const uint32_t ch_singleton_description[];

static ch_body called;

// The runtime calls this function to complete the metadata of the type. The assembly below refers to its name.
__attribute__((used)) response ch_singleton_complete(const void *metadata, void *context, const void *pattern) {
  (void)metadata;
  (void)context;
  (void)pattern;
  const ch_body body = called;
  if (body != NULL) body();
  return (response){0};
}

// A struct (17) that is unique (0x40) and has a singleton initialization (1 << 16). The pointer to the value witness
// table precedes the metadata, whose kind is 0x200. The flag 0x400000 of this table means that it is incomplete.
__asm__(".pushsection .data\n"
        ".p2align 3\n"
        "ch_singleton_cache: .quad 0, 0\n"
        "ch_singleton_witnesses: .quad 0, 0, 0, 0, 0, 0, 0, 0, 8, 8\n"
        ".long 0x400000, 0\n"
        ".quad ch_singleton_witnesses\n"
        "ch_singleton_metadata: .quad 0x200, ch_singleton_description\n"
        "ch_singleton_name: .asciz \"Singleton\"\n"
        ".p2align 3\n"
        ".globl ch_singleton_description\n"
        "ch_singleton_description: .long 0x10051, 0, ch_singleton_name - ., 0, 0, 0, 0\n"
        ".long ch_singleton_cache - ., ch_singleton_metadata - ., ch_singleton_complete - .\n"
        ".popsection\n");

void ch_in_metadata(ch_body body) {
  if (body != NULL) called = body;
  if (swift_getSingletonMetadata != NULL) swift_getSingletonMetadata(0, ch_singleton_description);
}
