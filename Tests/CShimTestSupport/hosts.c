// What a program may be like that has the shim in it.
#include <link.h>

#include "cs_test_support.h"

// The loader reports the executable first.
static int note_thread_locals(struct dl_phdr_info *info, size_t size, void *context) {
  (void)size;
  size_t *bytes = context;
  for (int index = 0; index < info->dlpi_phnum; index++) {
    if (info->dlpi_phdr[index].p_type == PT_TLS) *bytes = info->dlpi_phdr[index].p_memsz;
  }
  return 1;
}

size_t cs_test_thread_local_bytes(void) {
  size_t bytes = 0;
  dl_iterate_phdr(note_thread_locals, &bytes);
  return bytes;
}
