#include "cs_platform.h"

#if CS_QUARANTINE_SUPPORTED

#include "safe_access.h"

#include <fcntl.h>

#include "../../Handler/Signal/Kernel/system_call.h"

// The functions of this file call the kernel directly: libc's write, read and close are cancellation points, and a
// thread that pthread_cancel ends here would keep the lock of its caller. errno does not change.

// Returns whether this process has no use of process_vm_readv: a seccomp profile may forbid it with any error, and
// emulators do not have it.
static bool is_refused(long result) {
  return result < 0 && result != -EFAULT;
}

// Copies memory through a pipe, in the kernel as well. Precondition: the size is below PIPE_BUF.
static bool copy_through_pipe(void *to, const void *from, size_t size) {
  int ends[2] = {0};
  if (cs_system_call(SYS_pipe2, (long)ends, O_CLOEXEC, 0, 0, 0, 0) != 0) return false;
  const bool is_copied = cs_write(ends[1], from, size) == (long)size && cs_read(ends[0], to, size) == (long)size;
  cs_close(ends[0]);
  cs_close(ends[1]);
  return is_copied;
}

bool cs_read_at(const void *address, void *ret_bytes, size_t size) {
  const struct iovec to = {ret_bytes, size}, from = {(void *)(uintptr_t)address, size};
  const long copied = cs_process_vm_readv(cs_getpid(), &to, &from);
  return is_refused(copied) ? copy_through_pipe(ret_bytes, address, size) : copied == (long)size;
}

bool cs_metadata_is_readable_class(const cs_metadata *metadata) {
  _Alignas(8) uint8_t bytes[2 * sizeof(uint64_t) + sizeof(cs_metadata)];
  uint32_t flags = 0;
  if ((uintptr_t)metadata % 8 != 0 || (uintptr_t)metadata < 4096) return false;
  if (!cs_read_at((const uint8_t *)metadata - 16, bytes, sizeof bytes)) return false;
  const cs_metadata *const copy = (const cs_metadata *)((uintptr_t)bytes + 16);
  return copy->kind == 0 && cs_read_at(copy->descriptor, &flags, sizeof flags) && cs_metadata_is_class(copy, flags);
}

// The system call writes the word's present value to the word. It fails if the memory is read-only.
bool cs_is_writable(void *word) {
  uint64_t value = __atomic_load_n((uint64_t *)word, __ATOMIC_RELAXED);
  const struct iovec from = {&value, sizeof value}, to = {word, sizeof value};
  const long copied = cs_system_call(SYS_process_vm_writev, cs_getpid(), (long)&from, 1, (long)&to, 1, 0);
  return is_refused(copied) ? copy_through_pipe(word, &value, sizeof value) : copied == sizeof value;
}

#endif
