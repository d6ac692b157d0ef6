// Finds the classes of this process: each image (executable or shared library) contains type records for the Swift
// runtime.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "abi.h"
#include "cs_quarantine.h"

#define CONTEXTS_MAX     32
#define KIND_MASK        UINT32_C(0x1F)
#define KIND_MODULE      UINT32_C(0)
#define KIND_EXTENSION   UINT32_C(1)
#define KIND_ANONYMOUS   UINT32_C(2)
#define KIND_CLASS       UINT32_C(16)
#define KIND_ENUM        UINT32_C(18)
#define IS_GENERIC       (UINT32_C(1) << 7)
#define SECTIONS_VERSION UINT64_C(3)
#define OFFSET_OF_PARENT 4
#define OFFSET_OF_NAME   8
#define OFFSET_OF_MAKER  12

typedef struct section {
  uintptr_t start;
  uintptr_t length;
} section;

// The runtime's structure with the sections of an image. Later versions of the runtime can add fields at the end.
typedef struct image_sections {
  uintptr_t version;
  const void *base;
  const void *unused[2];
  section protocols;
  section conformances;
  section types;
} image_sections;

typedef struct response {
  const void *metadata;
  uint64_t state;
} response;

typedef SWIFTCC response metadata_maker(uint64_t request);

extern void swift_enumerateAllMetadataSections(bool (*body)(const image_sections *sections, void *context),
                                               void *context);

typedef struct visit {
  cs_quarantine_type_visitor *visitor;
  void *context;
  const void *executable;
} visit;

static int32_t relative(uintptr_t at) {
  return *(const int32_t *)at;
}

// Returns the address to which a relative reference refers, or 0 if the reference is 0. If the lowest bit of the
// reference is set, the reference refers to a pointer that contains this address.
static uintptr_t follow(uintptr_t at) {
  const int32_t offset = relative(at);
  if (offset == 0) return 0;
  const uintptr_t target = at + (uintptr_t)(intptr_t)(offset & ~1);
  return (offset & 1) != 0 ? *(const uintptr_t *)target : target;
}

// Stores the name "Module.Outer.Inner" of a type. Returns false if the type has no name of this form, or if the name is
// too long.
static bool full_name(uintptr_t descriptor, char *ret_name) {
  uintptr_t contexts[CONTEXTS_MAX];
  uint32_t count = 0;
  for (uintptr_t at = descriptor; at != 0; at = follow(at + OFFSET_OF_PARENT)) {
    const uint32_t kind = *(const uint32_t *)at & KIND_MASK;
    // Skips an extension, so that the name continues with the module that contains the extension.
    if (kind == KIND_EXTENSION || kind == KIND_ANONYMOUS) continue;
    if (kind != KIND_MODULE && (kind < KIND_CLASS || kind > KIND_ENUM)) return false;
    if (count == CONTEXTS_MAX) return false;
    contexts[count++] = at;
  }
  size_t length = 0;
  while (count > 0) {
    const uintptr_t at = contexts[--count] + OFFSET_OF_NAME;
    const char *const part = (const char *)(at + (uintptr_t)(intptr_t)relative(at));
    const size_t size = strlen(part);
    if (length + size + 2 > CS_NAME_BYTES) return false;
    if (length > 0) ret_name[length++] = '.';
    memcpy(ret_name + length, part, size);
    length += size;
  }
  ret_name[length] = 0;
  return length > 0;
}

bool cs_type_name(const void *descriptor, char *ret_name) {
  return full_name((uintptr_t)descriptor, ret_name);
}

static void visit_class(const visit *visit, uintptr_t descriptor, bool is_in_executable) {
  char name[CS_NAME_BYTES];
  if (!full_name(descriptor, name)) return;
  cs_quarantine_type type = {.name = name, .is_in_executable = is_in_executable};
  const uintptr_t maker = descriptor + OFFSET_OF_MAKER;
  if ((*(const uint32_t *)descriptor & IS_GENERIC) == 0 && relative(maker) != 0) {
    metadata_maker *const make = (metadata_maker *)(maker + (uintptr_t)(intptr_t)relative(maker));
    // The argument 0 requests complete metadata, and lets the call wait until the metadata is complete.
    type.metadata = make(0).metadata;
  }
  visit->visitor(&type, visit->context);
}

static bool visit_image(const image_sections *sections, void *context) {
  const visit *const visit = context;
  if (sections->version < SECTIONS_VERSION || sections->types.start == 0) return true;
  Dl_info image = {0};
  const void *const start = (const void *)sections->types.start;
  const bool is_in_executable = dladdr(start, &image) != 0 && image.dli_fbase == visit->executable;
  for (uintptr_t at = sections->types.start; at + 4 <= sections->types.start + sections->types.length; at += 4) {
    // The two lowest bits of a type record are its kind: 0 means that the record refers to the descriptor, and 1 that
    // it refers to a pointer to the descriptor.
    const int32_t offset = relative(at);
    const uintptr_t target = at + (uintptr_t)(intptr_t)(offset & ~3);
    const uintptr_t descriptor = (offset & 3) == 1 ? *(const uintptr_t *)target : target;
    if (offset == 0 || (offset & 3) > 1 || descriptor == 0) continue;
    if ((*(const uint32_t *)descriptor & KIND_MASK) == KIND_CLASS) visit_class(visit, descriptor, is_in_executable);
  }
  return true;
}

static int first_image(struct dl_phdr_info *info, size_t size, void *context) {
  (void)size;
  // The first image in the list is the executable.
  Dl_info image = {0};
  visit *const visit = context;
  for (uint32_t index = 0; index < info->dlpi_phnum; index++) {
    const ElfW(Phdr) *const header = &info->dlpi_phdr[index];
    if (header->p_type == PT_LOAD && dladdr((const void *)(info->dlpi_addr + header->p_vaddr), &image) != 0) {
      visit->executable = image.dli_fbase;
      return 1;
    }
  }
  return 1;
}

void cs_quarantine_visit_types(cs_quarantine_type_visitor *visitor, void *context) {
  visit visit = {visitor, context, NULL};
  dl_iterate_phdr(first_image, &visit);
  swift_enumerateAllMetadataSections(visit_image, &visit);
}

#endif
