// Implements fstat() with the system call that takes only a descriptor. glibc (2.33 to at least 2.36) implements it
// with newfstatat() and an empty path. The filter forbids that call, because a compromised process could use it with
// any path. The libraries of a confined process resolve these functions before glibc's.
#include <errno.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int fstat(int descriptor, struct stat *ret_status) {
  return (int)syscall(SYS_fstat, descriptor, ret_status);
}

// Both structures have the same layout on 64-bit machines.
int fstat64(int descriptor, struct stat64 *ret_status) {
  return (int)syscall(SYS_fstat, descriptor, ret_status);
}
