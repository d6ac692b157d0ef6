#include "cs_platform.h"

#if CS_SUPPORTED

#include "output.h"

#include <poll.h>

#include "../Kernel/system_call.h"

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 0x00000008
#endif

#define SIGNAL_BIT(signal) (UINT64_C(1) << ((signal) - 1))

static bool has_room(int descriptor) SIGNAL_SAFE {
  struct pollfd wanted = {.fd = descriptor, .events = POLLOUT};
  const long count = cs_system_call(SYS_poll, (long)&wanted, 1, 0, 0, 0, 0);
  return count == 1 && (wanted.revents & POLLOUT) != 0 && (wanted.revents & (POLLERR | POLLNVAL)) == 0;
}

static long write_now(int descriptor, const void *line, size_t size) SIGNAL_SAFE {
  const struct iovec part = {(void *)line, size};
  const long result = cs_system_call(SYS_pwritev2, descriptor, (long)&part, 1, -1, -1, RWF_NOWAIT);
  const bool is_unsupported = result == -EOPNOTSUPP || result == -ENOSYS || result == -EINVAL || result == -EPERM;
  return is_unsupported ? cs_write(descriptor, line, size) : result;
}

// A write to a pipe whose last reader ends after poll() causes SIGPIPE for this thread, and a write beyond RLIMIT_FSIZE
// causes SIGXFSZ. Both signals are blocked during the write, and then removed, because the process must end by its
// crash signal.
static bool write_quietly(long (*write)(int, const void *, size_t) SIGNAL_SAFE, int descriptor, const void *line,
                          size_t size) SIGNAL_SAFE {
  const uint64_t quiet = SIGNAL_BIT(SIGPIPE) | SIGNAL_BIT(SIGXFSZ);
  const struct timespec no_wait = {0};
  uint64_t before = 0;
  const long blocked =
      cs_system_call(SYS_rt_sigprocmask, SIG_BLOCK, (long)&quiet, (long)&before, CS_KERNEL_SIGNAL_SET_BYTES, 0, 0);
  if (blocked != 0) return false;
  const long result = write(descriptor, line, size);
  if (result == -EPIPE || result == -EFBIG) {
    cs_system_call(SYS_rt_sigtimedwait, (long)&quiet, 0, (long)&no_wait, CS_KERNEL_SIGNAL_SET_BYTES, 0, 0);
  }
  cs_sigmask(SIG_SETMASK, &before);
  return result == (long)size;
}

bool cs_output_line(int descriptor, const struct stat *status, const void *line, size_t size) SIGNAL_SAFE {
  switch (status->st_mode & S_IFMT) {
  case S_IFREG:
    return !cs_file_size_is_limited((uint64_t)status->st_size + size) &&
           write_quietly(cs_write, descriptor, line, size);
  case S_IFSOCK:
    return cs_send(descriptor, line, size, MSG_DONTWAIT | MSG_NOSIGNAL) == (long)size;
  case S_IFIFO:
  case S_IFCHR:
    return has_room(descriptor) && write_quietly(write_now, descriptor, line, size);
  default:
    return false;
  }
}

#endif
