#include "cs_platform.h"

#if CS_SUPPORTED

#include "pages.h"

#include <sys/mman.h>

#include "../../Handler/Signal/Kernel/system_call.h"

uint64_t cs_pages_start;
// Until cs_pages_resolve() has found the next allocator, to which malloc and free forward, these maximum values send
// every call to the slow path.
uint64_t cs_pages_limit = UINT64_MAX;
uint64_t cs_pages_map_bytes = UINT64_MAX;

uint64_t cs_page_bytes;
cs_page_slot *cs_page_slots;
cs_page_class cs_page_classes[CS_PAGES_CLASS_LIMIT];
uint32_t cs_page_class_count;
uint8_t cs_page_sizes[CS_PAGES_OBJECT_LIMIT + 1];
uint32_t cs_page_slot_target;
uint32_t cs_page_one_in = 1;
uint32_t cs_page_sampling_epoch;
cs_pages_counts cs_page_counts;

bool cs_page_protect(uint64_t page, bool is_open) SIGNAL_SAFE {
  const long rights = is_open ? PROT_READ | PROT_WRITE : PROT_NONE;
  return cs_system_call(SYS_mprotect, (long)page, (long)CS_PAGES_BYTES, rights, 0, 0, 0) == 0;
}

void cs_page_drop(uint64_t page) SIGNAL_SAFE {
  cs_system_call(SYS_madvise, (long)page, (long)CS_PAGES_BYTES, MADV_DONTNEED, 0, 0, 0);
}

uint32_t cs_page_class_with(uint64_t metadata, uint32_t bytes) SIGNAL_SAFE {
  // acquire: pairs with the release store of cs_pages_list().
  const uint32_t count = __atomic_load_n(&cs_page_class_count, __ATOMIC_ACQUIRE);
  for (uint32_t index = 0; index < count && index < CS_PAGES_CLASS_LIMIT; index++) {
    const cs_page_class *class = &cs_page_classes[index];
    if (class->metadata == metadata && class->bytes == bytes && __atomic_load_n(&class->is_listed, __ATOMIC_RELAXED))
      return index + 1;
  }
  return 0;
}

#endif
