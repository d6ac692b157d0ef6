// A library that is preloaded into crashd (LD_PRELOAD). Simulates a file system that the kernel has made read-only
// after an error.
//
// READONLY_SWITCH names a file with an int64_t that can change at any time. While the value is 1, writes to files below
// READONLY_DIRECTORY fail with EROFS, and reads succeed. This library replaces the write functions that SQLite and
// crashd use.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static const int64_t none;
static const int64_t *is_readonly = &none;
static const char *directory = "";

__attribute__((constructor)) static void map_switch(void) {
  const char *path = getenv("READONLY_SWITCH");
  const int file = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  void *memory = file >= 0 ? mmap(NULL, sizeof *is_readonly, PROT_READ, MAP_SHARED, file, 0) : MAP_FAILED;
  directory = getenv("READONLY_DIRECTORY");
  if (memory == MAP_FAILED || directory == NULL) _exit(97);
  is_readonly = memory;
  close(file);
}

static int is_refused(int file) {
  if (__atomic_load_n(is_readonly, __ATOMIC_RELAXED) == 0) return 0;
  char link[64];
  char path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t size = readlink(link, path, sizeof path - 1);
  if (size < 0) return 0;
  path[size] = 0;
  if (strncmp(path, directory, strlen(directory)) != 0) return 0;
  errno = EROFS;
  return 1;
}

ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t offset) {
  return is_refused(file) ? -1 : syscall(SYS_pwrite64, file, bytes, size, offset);
}

ssize_t pwrite(int file, const void *bytes, size_t size, off_t offset) {
  return pwrite64(file, bytes, size, offset);
}

ssize_t write(int file, const void *bytes, size_t size) {
  return is_refused(file) ? -1 : syscall(SYS_write, file, bytes, size);
}

int ftruncate64(int file, off64_t size) {
  return is_refused(file) ? -1 : (int)syscall(SYS_ftruncate, file, size);
}

int ftruncate(int file, off_t size) {
  return ftruncate64(file, size);
}
