// Copies memory of this process that other threads can make inaccessible at any time. The kernel makes the copy, and
// returns an error where a direct access would fault.
#ifndef CS_COPY_BY_KERNEL_H
#define CS_COPY_BY_KERNEL_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "system_call.h"

// The maximum number of bytes of one copy.
#define CS_KERNEL_COPY_LIMIT 128

// Emulators such as qemu do not implement process_vm_readv. This function sends the bytes through a socket pair
// instead. Unlike a write to a pipe, these calls raise no SIGPIPE and never wait. If another thread closes the
// descriptors and reuses their numbers for other files, the calls fail, because they work only on sockets.
static inline bool cs_copy_by_socket(void *ret_bytes, uint64_t address, size_t size) SIGNAL_SAFE {
  uint8_t bytes[CS_KERNEL_COPY_LIMIT];
  int ends[2] = {0};
  if (size > sizeof bytes) return false;
  if (cs_system_call(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, (long)ends, 0, 0) != 0) return false;
  const bool is_copied =
      cs_send(ends[0], (const void *)(uintptr_t)address, size, MSG_NOSIGNAL | MSG_DONTWAIT) == (long)size &&
      cs_receive(ends[1], bytes, size, MSG_DONTWAIT) == (long)size;
  cs_close(ends[0]);
  cs_close(ends[1]);
  if (is_copied) memcpy(ret_bytes, bytes, size);
  return is_copied;
}

// Returns whether the kernel has copied all bytes. If a seccomp profile forbids the call, the result is false. The
// function does not change errno, and is not a cancellation point.
static inline bool cs_copy_by_kernel(void *ret_bytes, uint64_t address, size_t size) SIGNAL_SAFE {
  const struct iovec local = {ret_bytes, size};
  const struct iovec remote = {(void *)(uintptr_t)address, size};
  const long result = cs_process_vm_readv(cs_getpid(), &local, &remote);
  return result == -ENOSYS ? cs_copy_by_socket(ret_bytes, address, size) : result == (long)size;
}

#endif
