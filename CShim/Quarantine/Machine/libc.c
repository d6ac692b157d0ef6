#include "cs_platform.h"

#if CS_SUPPORTED

#include "libc.h"

#include <malloc.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../Runtime/abi.h"

bool cs_heap_is_glibc;
bool cs_libc_is_glibc;

// Returns whether malloc tagged the memory (MTE, memory tagging; glibc's tunable glibc.mem.tagging). The tag of a
// chunk's header differs from the tag of the memory after it, so a read of the header through a pointer to this memory
// faults.
static bool is_tagged(const void *memory) {
  return (uintptr_t)memory >> 56 != 0;
}

static bool is_chunk(size_t size, uint64_t chunk) {
  void *const memory = swift_slowAlloc(size, 15);
  if (memory == NULL) return false;
  const volatile uint64_t *const header = (const volatile uint64_t *)((uintptr_t)memory - 8);
  const bool result =
      !is_tagged(memory) && (*header & ~UINT64_C(7)) == chunk && malloc_usable_size(memory) == chunk - 8;
  swift_slowDealloc(memory, size, 15);
  return result;
}

void cs_libc_check(void) {
  cs_heap_is_glibc = is_chunk(24, 32) && is_chunk(1000, 1008);
#ifdef __GLIBC__
  cs_libc_is_glibc = cs_libc_find_thread() && cs_libc_thread() == (uint32_t)syscall(SYS_gettid);
#endif
}

#endif
