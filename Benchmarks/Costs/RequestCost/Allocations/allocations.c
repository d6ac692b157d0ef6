// Replaces the allocation functions of glibc by functions that count their calls.
#include "allocations.h"

#include <errno.h>
#include <stddef.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static __thread unsigned long count __attribute__((tls_model("initial-exec")));

unsigned long allocation_count(void) {
  return count;
}

void *malloc(size_t size) {
  count++;
  return __libc_malloc(size);
}

void *calloc(size_t elements, size_t size) {
  count++;
  return __libc_calloc(elements, size);
}

void *realloc(void *memory, size_t size) {
  count++;
  return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  count++;
  return __libc_memalign(alignment, size);
}

int posix_memalign(void **ret_memory, size_t alignment, size_t size) {
  count++;
  void *const memory = __libc_memalign(alignment, size);
  if (memory == NULL) return ENOMEM;
  *ret_memory = memory;
  return 0;
}
