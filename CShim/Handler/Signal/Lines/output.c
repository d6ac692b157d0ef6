#include "cs_platform.h"

#if CS_SUPPORTED

#include "output.h"

#include "../Deliver/deliver.h"
#include "../Kernel/system_call.h"
#include "text.h"

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 0x00000008
#endif

// The size of a path "/proc/thread-self/fd/NUMBER". The path does not use /proc/self, which shows the descriptor table
// of the process's first thread, because the crashing thread can have its own table.
#define LINK_BYTES 40

#define SIGNAL_BIT(signal) (UINT64_C(1) << ((signal) - 1))

static bool is_unsupported(long result) SIGNAL_SAFE {
  return result == -EOPNOTSUPP || result == -ENOSYS || result == -EINVAL || result == -EPERM;
}

// Opens the descriptor's file again. The new open file description is not shared with other processes, so O_NONBLOCK
// does not affect them.
static int open_again(int descriptor, const struct stat *status) SIGNAL_SAFE {
  char path[LINK_BYTES] = {0};
  cs_text text = {.bytes = path, .limit = sizeof path - 1};
  cs_text_put(&text, "/proc/thread-self/fd/");
  cs_text_put_decimal(&text, descriptor);
  const int flags = O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  int file = cs_openat(AT_FDCWD, path, flags, 0);
  for (int attempt = 0; cs_reserve_await(file, attempt); attempt++)
    file = cs_openat(AT_FDCWD, path, flags, 0);
  // The opened file can be another one: the process can have changed its root directory, or another thread can have
  // replaced the descriptor.
  struct stat opened = {0};
  if (file < 0) return file;
  if (cs_fstat(file, &opened) == 0 && opened.st_dev == status->st_dev && opened.st_ino == status->st_ino) return file;
  cs_close(file);
  return -EBADF;
}

// Writes to a pipe or a character device without waiting, or returns a negative errno value.
static long write_now(int descriptor, const struct stat *status, const void *line, size_t size) SIGNAL_SAFE {
  const struct iovec part = {(void *)line, size};
  const long result = cs_system_call(SYS_pwritev2, descriptor, (long)&part, 1, -1, -1, RWF_NOWAIT);
  if (!is_unsupported(result)) return result;
  const int file = open_again(descriptor, status);
  if (file >= 0) {
    const long written = cs_write(file, line, size);
    cs_close(file);
    return written;
  }
  const long flags = cs_system_call(SYS_fcntl, descriptor, F_GETFL, 0, 0, 0, 0);
  return flags >= 0 && (flags & O_NONBLOCK) != 0 ? cs_write(descriptor, line, size) : file;
}

static long write_file(int descriptor, const struct stat *status, const void *line, size_t size) SIGNAL_SAFE {
  return cs_file_size_is_limited((uint64_t)status->st_size + size) ? -EFBIG : cs_write(descriptor, line, size);
}

// Writes with blocked signals, because the process must end by its crash signal. A write to a pipe without a reader
// causes SIGPIPE, and a write beyond RLIMIT_FSIZE causes SIGXFSZ: these pending signals are removed after the write. A
// write of a background process to its terminal can cause SIGTTOU, which would stop the process, but the kernel does
// not send SIGTTOU while it is blocked.
static bool write_quietly(long (*write)(int, const struct stat *, const void *, size_t) SIGNAL_SAFE, int descriptor,
                          const struct stat *status, const void *line, size_t size) SIGNAL_SAFE {
  const uint64_t removed = SIGNAL_BIT(SIGPIPE) | SIGNAL_BIT(SIGXFSZ);
  const uint64_t quiet = removed | SIGNAL_BIT(SIGTTOU);
  const struct timespec no_wait = {0};
  uint64_t before = 0;
  const long blocked =
      cs_system_call(SYS_rt_sigprocmask, SIG_BLOCK, (long)&quiet, (long)&before, CS_KERNEL_SIGNAL_SET_BYTES, 0, 0);
  if (blocked != 0) return false;
  const long result = write(descriptor, status, line, size);
  if (result == -EPIPE || result == -EFBIG) {
    cs_system_call(SYS_rt_sigtimedwait, (long)&removed, 0, (long)&no_wait, CS_KERNEL_SIGNAL_SET_BYTES, 0, 0);
  }
  cs_sigmask(SIG_SETMASK, &before);
  return result == (long)size;
}

// Returns whether a socket is local (AF_UNIX). A network socket does not get the line, because its peer can be a client
// of the program, for example if inetd started the program.
static bool is_local(int socket) SIGNAL_SAFE {
  int domain = 0;
  socklen_t size = sizeof domain;
  return cs_getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX;
}

bool cs_output_line(int descriptor, const struct stat *status, const void *line, size_t size) SIGNAL_SAFE {
  switch (status->st_mode & S_IFMT) {
  case S_IFREG:
    return write_quietly(write_file, descriptor, status, line, size);
  case S_IFSOCK:
    return is_local(descriptor) && cs_send(descriptor, line, size, MSG_DONTWAIT | MSG_NOSIGNAL) == (long)size;
  case S_IFIFO:
  case S_IFCHR:
    return write_quietly(write_now, descriptor, status, line, size);
  default:
    return false;
  }
}

#endif
