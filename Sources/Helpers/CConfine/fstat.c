// fstat() by the call that takes a descriptor and nothing else. glibc makes it by newfstatat() with an empty path (2.33
// to at least 2.36), which a confined process may not call: with it a process that was taken over could ask about any
// path. The libraries that a confined process uses find these functions before glibc's.
#include <errno.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int fstat(int descriptor, struct stat *ret_status) {
  return (int)syscall(SYS_fstat, descriptor, ret_status);
}

// On 64-bit machines the structure is the same.
int fstat64(int descriptor, struct stat64 *ret_status) {
  return (int)syscall(SYS_fstat, descriptor, ret_status);
}
