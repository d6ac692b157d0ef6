// Creates the zombie of a class: the copy of the class's metadata to which the objects in quarantine point. The vtable
// words of the copy point to stubs, which record calls. The superclass of the copy is the class itself, so casts of
// objects in quarantine still work.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <stdlib.h>
#include <string.h>

#include "../Release/stubs.h"
#include "class.h"

// The vtable word of an async method points to this structure: the relative address of the method's code, and the size
// of the AsyncContext that the code needs.
typedef struct async_pointer {
  int32_t code;
  uint32_t context_bytes;
} async_pointer;

#define ASYNC_POINTERS 16384

// The structures for the stubs. The array is a static variable, because the 32-bit relative addresses must reach the
// stubs in this image. The lock of the class table protects it. Its entries are never freed.
static async_pointer async_pointers[ASYNC_POINTERS];
static uint32_t async_pointers_used;

typedef struct copying {
  cs_class *class;
  uint64_t *words;
} copying;

static bool hook_async(uint64_t *word, uint32_t index) {
  if (async_pointers_used == ASYNC_POINTERS) return false;
  const async_pointer *const original = (const async_pointer *)(uintptr_t)*word;
  async_pointer *const pointer = &async_pointers[async_pointers_used++];
  pointer->context_bytes = original->context_bytes;
  pointer->code = (int32_t)(cs_stubs_async + (size_t)index * CS_STUB_BYTES - (const uint8_t *)pointer);
  *word = (uintptr_t)pointer;
  return true;
}

static void hook(cs_method method, void *context) {
  copying *const copying = context;
  cs_class *const class = copying->class;
  uint64_t *const word = &copying->words[method.word];
  // A class that overrides a method has its own code in the same vtable word, and the code is of the same kind.
  if (*word == 0 || method.word >= CS_STUB_WORDS || (method.is_async && !hook_async(word, method.word))) {
    class->unhooked++;
    return;
  }
  if (!method.is_async) *word = (uintptr_t)(cs_stubs_call + (size_t)method.word * CS_STUB_BYTES);
  if (method.yields) class->yields[method.word / 64] |= UINT64_C(1) << method.word % 64;
  class->hooked++;
}

bool cs_zombie_make(cs_class *class) {
  const cs_metadata *const metadata = class->metadata;
  // The word before a zombie contains the address of the zombie's cs_class.
  uint64_t *const memory = malloc(sizeof(uint64_t) + metadata->class_size);
  if (memory == NULL) return false;
  memory[0] = (uintptr_t)class;
  uint64_t *const copy = &memory[1];
  memcpy(copy, (const uint8_t *)metadata - metadata->class_address_point, metadata->class_size);
  cs_metadata *const zombie = (cs_metadata *)((uintptr_t)copy + metadata->class_address_point);
  copying copying = {class, (uint64_t *)zombie};
  class->unhooked = cs_metadata_visit_methods(metadata, hook, &copying) + class->unhooked;
  zombie->superclass = metadata;
  class->zombie = zombie;
  return true;
}

cs_class *cs_class_of_zombie(const cs_metadata *zombie) {
  const uint64_t *const copy = (const uint64_t *)((uintptr_t)zombie - zombie->class_address_point);
  return (cs_class *)(uintptr_t)copy[-1];
}

#endif
