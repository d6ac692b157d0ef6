// The system calls that the handler makes. These functions do not use libc. They therefore set no errno, use no
// thread-locals, are no cancellation points, and call no function that the program has replaced. On failure, each
// function returns -errno, as the kernel does.
#ifndef CS_SYSTEM_CALL_H
#define CS_SYSTEM_CALL_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "cs_signal_safe.h"
#include "system_call_aarch64.h"
#include "system_call_x86_64.h"

// The size of the kernel's sigset_t, which is smaller than glibc's.
#define CS_KERNEL_SIGNAL_SET_BYTES 8

// The structure that the system call rt_sigaction uses. In glibc's struct sigaction, the fields have another order, and
// glibc does not return the restorer, the code that returns from a signal handler.
typedef struct cs_kernel_action {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)(void);
  uint64_t mask;
} cs_kernel_action;

static inline int cs_getpid(void) SIGNAL_SAFE {
  return (int)cs_system_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

static inline uint32_t cs_geteuid(void) SIGNAL_SAFE {
  return (uint32_t)cs_system_call(SYS_geteuid, 0, 0, 0, 0, 0, 0);
}

static inline int cs_gettid(void) SIGNAL_SAFE {
  return (int)cs_system_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

static inline long cs_sigaction(int signal, const cs_kernel_action *action,
                                cs_kernel_action *ret_previous) SIGNAL_SAFE {
  return cs_system_call(SYS_rt_sigaction, signal, (long)action, (long)ret_previous, CS_KERNEL_SIGNAL_SET_BYTES, 0, 0);
}

static inline long cs_sigmask(int how, const uint64_t *set) SIGNAL_SAFE {
  return cs_system_call(SYS_rt_sigprocmask, how, (long)set, 0, CS_KERNEL_SIGNAL_SET_BYTES, 0, 0);
}

// Sends a thread of this process a signal with the siginfo `information`. The kernel accepts any si_code if a process
// sends the signal to itself.
static inline long cs_queue_signal(int pid, int tid, int signal, const siginfo_t *information) SIGNAL_SAFE {
  return cs_system_call(SYS_rt_tgsigqueueinfo, pid, tid, signal, (long)information, 0, 0);
}

static inline void cs_thread_name(char ret_name[16]) SIGNAL_SAFE {
  cs_system_call(SYS_prctl, PR_GET_NAME, (long)ret_name, 0, 0, 0, 0);
}

static inline void cs_sleep_ns(long duration_ns) SIGNAL_SAFE {
  const struct timespec duration = {.tv_sec = 0, .tv_nsec = duration_ns};
  cs_system_call(SYS_nanosleep, (long)&duration, 0, 0, 0, 0, 0);
}

// Sleeps for the whole duration even if signals arrive. Returns early after `tries` interruptions.
static inline void cs_sleep_whole_ns(long duration_ns, int tries) SIGNAL_SAFE {
  struct timespec left = {.tv_sec = 0, .tv_nsec = duration_ns};
  for (int attempt = 0; attempt < tries; attempt++) {
    if (cs_system_call(SYS_nanosleep, (long)&left, (long)&left, 0, 0, 0, 0) != -EINTR) return;
  }
}

static inline int cs_openat(int directory, const char *path, int flags, unsigned mode) SIGNAL_SAFE {
  return (int)cs_system_call(SYS_openat, directory, (long)path, flags, mode, 0, 0);
}

static inline long cs_mkdir(const char *path, unsigned mode) SIGNAL_SAFE {
  return cs_system_call(SYS_mkdirat, AT_FDCWD, (long)path, mode, 0, 0, 0);
}

static inline long cs_getdents(int descriptor, void *ret_entries, size_t size) SIGNAL_SAFE {
  return cs_system_call(SYS_getdents64, descriptor, (long)ret_entries, (long)size, 0, 0, 0);
}

static inline long cs_read(int descriptor, void *ret_bytes, size_t size) SIGNAL_SAFE {
  return cs_system_call(SYS_read, descriptor, (long)ret_bytes, (long)size, 0, 0, 0);
}

static inline long cs_fchmod(int descriptor, unsigned mode) SIGNAL_SAFE {
  return cs_system_call(SYS_fchmod, descriptor, mode, 0, 0, 0, 0);
}

static inline long cs_write(int descriptor, const void *bytes, size_t size) SIGNAL_SAFE {
  return cs_system_call(SYS_write, descriptor, (long)bytes, (long)size, 0, 0, 0);
}

static inline long cs_pwrite(int descriptor, const void *bytes, size_t size, uint64_t offset) SIGNAL_SAFE {
  return cs_system_call(SYS_pwrite64, descriptor, (long)bytes, (long)size, (long)offset, 0, 0);
}

static inline long cs_pread(int descriptor, void *ret_bytes, size_t size, uint64_t offset) SIGNAL_SAFE {
  return cs_system_call(SYS_pread64, descriptor, (long)ret_bytes, (long)size, (long)offset, 0, 0);
}

static inline long cs_ftruncate(int descriptor, uint64_t size) SIGNAL_SAFE {
  return cs_system_call(SYS_ftruncate, descriptor, (long)size, 0, 0, 0, 0);
}

// Returns whether RLIMIT_FSIZE forbids a file of `size` bytes. A write that exceeds this limit would cause SIGXFSZ.
static inline bool cs_file_size_is_limited(uint64_t size) SIGNAL_SAFE {
  struct rlimit limit = {0};
  const long result = cs_system_call(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)&limit, 0, 0);
  return result == 0 && limit.rlim_cur < size;
}

static inline long cs_renameat(int directory, const char *from, const char *to) SIGNAL_SAFE {
  return cs_system_call(SYS_renameat2, directory, (long)from, directory, (long)to, 0, 0);
}

static inline long cs_unlinkat(int directory, const char *path) SIGNAL_SAFE {
  return cs_system_call(SYS_unlinkat, directory, (long)path, 0, 0, 0, 0);
}

static inline long cs_close(int descriptor) SIGNAL_SAFE {
  return cs_system_call(SYS_close, descriptor, 0, 0, 0, 0, 0);
}

static inline long cs_fstat(int descriptor, struct stat *ret_status) SIGNAL_SAFE {
  return cs_system_call(SYS_fstat, descriptor, (long)ret_status, 0, 0, 0, 0);
}

static inline long cs_stat(const char *path, struct stat *ret_status) SIGNAL_SAFE {
  return cs_system_call(SYS_newfstatat, AT_FDCWD, (long)path, (long)ret_status, 0, 0, 0);
}

static inline long cs_fstatfs(int descriptor, struct statfs *ret_space) SIGNAL_SAFE {
  return cs_system_call(SYS_fstatfs, descriptor, (long)ret_space, 0, 0, 0, 0);
}

static inline int cs_socket(int domain, int type) SIGNAL_SAFE {
  return (int)cs_system_call(SYS_socket, domain, type, 0, 0, 0, 0);
}

static inline long cs_connect(int descriptor, const void *address, size_t address_bytes) SIGNAL_SAFE {
  return cs_system_call(SYS_connect, descriptor, (long)address, (long)address_bytes, 0, 0, 0);
}

static inline long cs_getsockopt(int descriptor, int level, int option, void *ret_value, socklen_t *size) SIGNAL_SAFE {
  return cs_system_call(SYS_getsockopt, descriptor, level, option, (long)ret_value, (long)size, 0);
}

static inline long cs_send(int descriptor, const void *bytes, size_t size, int flags) SIGNAL_SAFE {
  return cs_system_call(SYS_sendto, descriptor, (long)bytes, (long)size, flags, 0, 0);
}

static inline long cs_receive(int descriptor, void *ret_bytes, size_t size, int flags) SIGNAL_SAFE {
  return cs_system_call(SYS_recvfrom, descriptor, (long)ret_bytes, (long)size, flags, 0, 0);
}

static inline long cs_sendmsg(int descriptor, const struct msghdr *message, int flags) SIGNAL_SAFE {
  return cs_system_call(SYS_sendmsg, descriptor, (long)message, flags, 0, 0, 0);
}

static inline long cs_process_vm_readv(int pid, const struct iovec *local, const struct iovec *remote) SIGNAL_SAFE {
  return cs_system_call(SYS_process_vm_readv, pid, (long)local, 1, (long)remote, 1, 0);
}

#endif
