#include "cs_platform.h"

#if CS_SUPPORTED && defined(__aarch64__)

#include "thread_id_aarch64.h"

#include <dlfcn.h>
#include <stddef.h>

int64_t cs_libc_thread_distance;

// The description of a field of glibc's thread control block, which glibc exports for debuggers (libthread_db): the
// number of bits, the number of elements, and the offset.
typedef struct field {
  uint32_t bits;
  uint32_t count;
  uint32_t offset;
} field;

bool cs_libc_find_thread(void) {
  static const char version[] = "GLIBC_PRIVATE";
  const field *const number = dlvsym(RTLD_DEFAULT, "_thread_db_pthread_tid", version);
  const uint32_t *const size = dlvsym(RTLD_DEFAULT, "_thread_db_sizeof_pthread", version);
  if (number == NULL || size == NULL || number->bits != 32 || number->offset >= *size) return false;
  cs_libc_thread_distance = (int64_t)number->offset - (int64_t)*size;
  return true;
}

#endif
