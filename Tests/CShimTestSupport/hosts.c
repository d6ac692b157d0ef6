// What a program may be like that has the shim in it.
#include <errno.h>
#include <link.h>
#include <sys/resource.h>

#include "cs_shim.h"
#include "ways.h"

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

void cs_test_limit_file_size(void) {
  const struct rlimit limit = {1024, RLIM_INFINITY};
  setrlimit(RLIMIT_FSIZE, &limit);
}

static int starts_limited(void) {
  cs_shim_failure failure = {0};
  cs_test_limit_file_size();
  const cs_shim_error error = cs_shim_start(NULL, &failure);
  return error == CS_SHIM_SYSTEM_CALL && failure.errno_value == EFBIG ? 0 : 1;
}

int cs_test_host_way_run(cs_test_way way, const char *directory) {
  (void)directory;
  if (way == CS_TEST_STARTS_LIMITED) return starts_limited();
  return -1;
}
