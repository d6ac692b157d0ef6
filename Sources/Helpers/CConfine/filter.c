// The system calls that a confined process needs. An attacker who takes over crash-analyse through a hostile image can
// only use CPU time and write a wrong cache. An attacker who takes over crash-fetch through a hostile server can only
// send wrong debug information to crashd, and connect to other servers.
#include "filter.h"
#if defined(__aarch64__)
#include "filter_aarch64.h"
#else
#include "filter_x86_64.h"
#endif
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/// These system calls are allowed with any arguments.
static const uint32_t allowed_calls[] = {
    SYS_read,
    SYS_pread64,
    SYS_write,
    SYS_lseek,
    SYS_fstat,
    SYS_close,
    SYS_munmap,
    SYS_mremap,
    SYS_brk,
    SYS_madvise,
    SYS_futex,
    SYS_rt_sigreturn,
    SYS_rt_sigprocmask,
    SYS_exit,
    SYS_exit_group,
    SYS_clock_gettime,
    SYS_getrandom,
    SYS_sysinfo,
    SYS_getpid,
    SYS_gettid,
    SYS_sched_yield,
    SYS_sigaltstack,
    SYS_rt_sigaction,
    SYS_sched_getaffinity,
    SYS_set_robust_list,
};

/// A process with network access is also allowed to make these calls with any arguments. The filter checks the address
/// family in socket(), the only call that creates sockets.
static const uint32_t network_calls[] = {
    CS_OLD_NETWORK_CALLS SYS_connect,
    SYS_getsockopt,
    SYS_setsockopt,
    SYS_getsockname,
    SYS_getpeername,
    SYS_sendto,
    SYS_recvfrom,
    SYS_sendmsg,
    SYS_recvmsg,
    SYS_shutdown,
    SYS_ppoll,
    SYS_ftruncate,
    SYS_fcntl,
};

/// These calls fail with EACCES instead of ending the process. libdw searches for other files with these calls, and
/// works without these files. newfstatat() is in this list because newfstatat() accepts any path, and a filter cannot
/// read the path. fstat() of open files uses another system call, as fstat.c explains.
static const uint32_t path_calls[] = {CS_OLD_PATH_CALLS SYS_openat, SYS_readlinkat, SYS_faccessat, SYS_statx,
                                      SYS_newfstatat};

/// A call that is allowed only if some bits of an argument are 0, or if the argument has a given value.
struct condition {
  uint32_t call;
  uint32_t argument;
  uint32_t mask; // bits that must be 0; if 0, the low 32 bits must equal `value`
  uint32_t value;
};

#define CS_FILTER_LIMIT 128

struct filter {
  struct sock_filter items[CS_FILTER_LIMIT];
  uint16_t count;
};

static void add(struct filter *filter, struct sock_filter item) {
  if (filter->count < CS_FILTER_LIMIT) filter->items[filter->count] = item;
  filter->count++;
}

static void load(struct filter *filter, size_t offset) {
  add(filter, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

static void finish(struct filter *filter, uint32_t action) {
  add(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

/// Adds an instruction that skips the next `count` instructions unless the loaded word equals `value`.
static void unless_equal(struct filter *filter, uint32_t value, uint8_t count) {
  add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, count));
}

static void add_calls(struct filter *filter, const uint32_t *calls, size_t count, uint32_t action) {
  for (size_t i = 0; i < count; i++) {
    unless_equal(filter, calls[i], 1);
    finish(filter, action);
  }
}

static void add_condition(struct filter *filter, const struct condition *condition) {
  unless_equal(filter, condition->call, 4);
  load(filter, offsetof(struct seccomp_data, args) + condition->argument * sizeof(uint64_t));
  if (condition->mask)
    add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, condition->mask, 1, 0));
  else
    unless_equal(filter, condition->value, 1);
  finish(filter, SECCOMP_RET_ALLOW);
  finish(filter, SECCOMP_RET_KILL_PROCESS);
}

/// Allows only Internet sockets, because a Unix socket could connect to other services of this machine.
static void add_socket(struct filter *filter) {
  unless_equal(filter, SYS_socket, 6);
  load(filter, offsetof(struct seccomp_data, args));
  unless_equal(filter, AF_INET, 1);
  finish(filter, SECCOMP_RET_ALLOW);
  unless_equal(filter, AF_INET6, 1);
  finish(filter, SECCOMP_RET_ALLOW);
  finish(filter, SECCOMP_RET_ERRNO | EACCES);
}

static void add_conditions(struct filter *filter, const struct condition *conditions, size_t count) {
  for (size_t i = 0; i < count; i++)
    add_condition(filter, &conditions[i]);
}

static void build(struct filter *filter, enum cs_filter_kind kind) {
  load(filter, offsetof(struct seccomp_data, arch));
  add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CS_AUDIT_ARCH, 1, 0));
  finish(filter, SECCOMP_RET_KILL_PROCESS);
  load(filter, offsetof(struct seccomp_data, nr));
  add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, CS_FIRST_FOREIGN_CALL, 0, 1));
  finish(filter, SECCOMP_RET_KILL_PROCESS);
  add_calls(filter, allowed_calls, sizeof allowed_calls / sizeof *allowed_calls, SECCOMP_RET_ALLOW);
  add_calls(filter, path_calls, sizeof path_calls / sizeof *path_calls, SECCOMP_RET_ERRNO | EACCES);
  const struct condition conditions[] = {
      {.call = SYS_mmap, .argument = 2, .mask = PROT_EXEC},
      {.call = SYS_mprotect, .argument = 2, .mask = PROT_EXEC},
      // abort() and raise() need this system call (tgkill). The condition limits the target to the process itself.
      {.call = SYS_tgkill, .argument = 0, .value = (uint32_t)getpid()},
  };
  add_conditions(filter, conditions, sizeof conditions / sizeof *conditions);
  if (kind == CS_FILTER_READ) {
    add_condition(filter, &(struct condition){.call = SYS_fcntl, .argument = 1, .value = F_GETFD});
    finish(filter, SECCOMP_RET_KILL_PROCESS);
    return;
  }
  add_calls(filter, network_calls, sizeof network_calls / sizeof *network_calls, SECCOMP_RET_ALLOW);
  add_socket(filter);
  finish(filter, SECCOMP_RET_ERRNO | EPERM);
}

int cs_filter_install(enum cs_filter_kind kind) {
  struct filter filter = {0};
  build(&filter, kind);
  if (filter.count > CS_FILTER_LIMIT) return E2BIG;
  struct sock_fprog program = {.len = filter.count, .filter = filter.items};
  long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
  if (result < 0) return errno;
  // With SECCOMP_FILTER_FLAG_TSYNC, a positive result is the id of a thread that could not be confined.
  return result == 0 ? 0 : EBUSY;
}
