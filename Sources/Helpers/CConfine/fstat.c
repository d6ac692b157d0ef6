// fstat() by the system call that takes only a descriptor. glibc implements it by newfstatat() with an empty path (2.33
// to at least 2.36), which is forbidden: a compromised process could ask about any path with it. The libraries of a
// confined process find these functions before glibc's.
#include <errno.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int fstat(int descriptor, struct stat *ret_status) {
  return (int)syscall(SYS_fstat, descriptor, ret_status);
}

// The structures are equal on 64-bit machines.
int fstat64(int descriptor, struct stat64 *ret_status) {
  return (int)syscall(SYS_fstat, descriptor, ret_status);
}
