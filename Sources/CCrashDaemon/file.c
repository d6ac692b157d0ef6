// Files whose names come from outside, and memory files.
#include "cd_system.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int cd_file_open_regular(int directory, const char *path, bool follow, int *ret_descriptor) {
  // O_PATH opens nothing yet: opening a device or a pipe has effects of its own.
  int place = openat(directory, path, O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW));
  if (place < 0) return errno;
  struct stat status;
  int result = fstat(place, &status) != 0 ? errno : S_ISREG(status.st_mode) ? 0 : ENOTSUP;
  if (result == 0) {
    char name[40];
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", place);
    int descriptor = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (descriptor < 0)
      result = errno;
    else
      *ret_descriptor = descriptor;
  }
  close(place);
  return result;
}

int cd_memory_create(size_t size, int *ret_descriptor) {
  int descriptor = memfd_create("cs-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) {
    return errno;
  }
  if (ftruncate(descriptor, (off_t)size) != 0) {
    int result = errno;
    close(descriptor);
    return result;
  }
  *ret_descriptor = descriptor;
  return 0;
}

int cd_memory_seal(int descriptor, bool stays_writable) {
  const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL | (stays_writable ? 0 : F_SEAL_WRITE);
  return fcntl(descriptor, F_ADD_SEALS, seals) == 0 ? 0 : errno;
}
