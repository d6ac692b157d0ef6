#include "cs_platform.h"

#if CS_QUARANTINE_SUPPORTED

#include "safe_access.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

// Returns whether this process has no use of process_vm_readv: a seccomp profile may forbid it, and emulators do not
// have it.
static bool is_refused(ssize_t result) {
  return result < 0 && (errno == ENOSYS || errno == EPERM);
}

// Copies memory through a pipe, in the kernel as well. Precondition: the size is below PIPE_BUF.
static bool copy_through_pipe(void *to, const void *from, size_t size) {
  int ends[2] = {0};
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  const bool is_copied = write(ends[1], from, size) == (ssize_t)size && read(ends[0], to, size) == (ssize_t)size;
  close(ends[0]);
  close(ends[1]);
  return is_copied;
}

bool cs_read_at(const void *address, void *ret_bytes, size_t size) {
  const struct iovec to = {ret_bytes, size}, from = {(void *)(uintptr_t)address, size};
  const ssize_t copied = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
  return is_refused(copied) ? copy_through_pipe(ret_bytes, address, size) : copied == (ssize_t)size;
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
  const ssize_t copied = process_vm_writev(getpid(), &from, 1, &to, 1, 0);
  return is_refused(copied) ? copy_through_pipe(word, &value, sizeof value) : copied == sizeof value;
}

#endif
