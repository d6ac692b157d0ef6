#include "cs_platform.h"

#if CS_SUPPORTED

#include "class_table.h"

#include <string.h>

// Sets cs_pages_limit to one more than the largest sampled size. For a size that is not below this limit, malloc makes
// only one comparison before it forwards the call.
static void set_limit(void) {
  uint64_t limit = 0;
  for (uint64_t size = 0; size <= CS_PAGES_OBJECT_LIMIT; size++) {
    if (cs_page_sizes[size] != 0) limit = size + 1;
  }
  __atomic_store_n(&cs_pages_limit, limit, __ATOMIC_RELEASE);
}

cs_page_class *cs_page_class_find(const void *metadata) {
  for (uint32_t index = 0; index < cs_page_class_count; index++) {
    if (cs_page_classes[index].metadata == (uint64_t)(uintptr_t)metadata) return &cs_page_classes[index];
  }
  return NULL;
}

cs_page_class *cs_page_class_enter(const void *metadata, uint32_t bytes, const char *name, uint32_t name_bytes) {
  const uint32_t index = cs_page_class_count;
  if (index == CS_PAGES_CLASS_LIMIT) return NULL;
  cs_page_class *const class = &cs_page_classes[index];
  // If the name is too long, only its end is stored, because the end is more specific than the beginning. The copy does
  // not start in the middle of a UTF-8 character.
  const uint32_t cut = name_bytes > sizeof class->name ? name_bytes - (uint32_t)sizeof class->name : 0;
  uint32_t from = cut;
  while (cut != 0 && from < name_bytes && ((uint8_t)name[from] & 0xc0) == 0x80)
    from++;
  class->name_bytes = name_bytes - from;
  memcpy(class->name, name + from, class->name_bytes);
  class->bytes = bytes;
  class->metadata = (uint64_t)(uintptr_t)metadata;
  // release: pairs with the acquire load of cs_page_class_with().
  __atomic_store_n(&cs_page_class_count, index + 1, __ATOMIC_RELEASE);
  return class;
}

void cs_page_class_list(cs_page_class *class, cs_mode policy) {
  __atomic_store_n(&class->policy, policy, __ATOMIC_RELAXED);
  if (class->is_listed != 0) return;
  __atomic_store_n(&class->is_listed, 1, __ATOMIC_RELEASE);
  // The counter of a size saturates at UINT8_MAX. A saturated counter never decreases.
  if (cs_page_sizes[class->bytes] < UINT8_MAX) __atomic_fetch_add(&cs_page_sizes[class->bytes], 1, __ATOMIC_RELAXED);
  set_limit();
}

void cs_page_class_unlist(cs_page_class *class) {
  __atomic_store_n(&class->is_listed, 0, __ATOMIC_RELEASE);
  if (cs_page_sizes[class->bytes] < UINT8_MAX) __atomic_fetch_sub(&cs_page_sizes[class->bytes], 1, __ATOMIC_RELAXED);
  set_limit();
}

#endif
