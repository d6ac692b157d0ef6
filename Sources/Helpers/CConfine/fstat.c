// Implements fstat() with the system call that takes only a descriptor. glibc (2.33 to at least 2.36) implements
// fstat() with newfstatat() and an empty path. The filter forbids newfstatat(), because a compromised process could
// pass any path. The dynamic linker resolves fstat() to this function, also for calls by libraries, because the
// executable precedes glibc in the search order.
#include <errno.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int fstat(int descriptor, struct stat *ret_status) {
  return (int)syscall(SYS_fstat, descriptor, ret_status);
}

// `struct stat` and `struct stat64` have the same layout on 64-bit machines.
int fstat64(int descriptor, struct stat64 *ret_status) {
  return (int)syscall(SYS_fstat, descriptor, ret_status);
}
