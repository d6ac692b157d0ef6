// Interposes unshare(), setns(), and the functions that change users or groups, such as setuid() and setgroups(). The
// shield's threads end before a call that would fail because of them, and restart after it (docs/decisions/0115).
//
// - glibc changes the user or group in every thread. If the change succeeds in one thread and fails in another, glibc
//   ends the process. prctl(PR_SET_KEEPCAPS) and capset() change the privileges of one thread only. After these two
//   calls, the shield's threads still have the privileges with which they were created, so changing the user can fail
//   in them.
// - The kernel does not let a process with several threads enter another user, mount or time namespace.
//
// The definitions in this file are weak. In a static executable, another function of libc can require libc's own
// definition of the same function. The linker then uses libc's definition.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../setup.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

#define INTERPOSED __attribute__((weak, visibility("default")))

typedef enum function {
  SETUID,
  SETGID,
  SETEUID,
  SETEGID,
  SETREUID,
  SETREGID,
  SETRESUID,
  SETRESGID,
  SETGROUPS,
  INITGROUPS,
  UNSHARE,
  SETNS,
  FUNCTIONS,
} function;

static const char *const names[FUNCTIONS] = {"setuid",    "setgid",     "seteuid",   "setegid",
                                             "setreuid",  "setregid",   "setresuid", "setresgid",
                                             "setgroups", "initgroups", "unshare",   "setns"};

static void *nexts[FUNCTIONS]; // atomic

// glibc's function that makes a system call in every thread. Its interface is unchanged since glibc 2.32. Only a static
// executable can link it under this name. It is needed there, because in a static executable dlsym cannot find the libc
// functions that ours replace.
typedef struct xid_command {
  int number;
  unsigned long arguments[3];
  int left;
  int error;
} xid_command;
extern int __nptl_setxid(xid_command *) __attribute__((weak)); // NOLINT(*-reserved-identifier)

static void *next(function which) {
  void *found = __atomic_load_n(&nexts[which], __ATOMIC_RELAXED);
  if (found != NULL) return found;
  found = dlsym(RTLD_NEXT, names[which]);
  __atomic_store_n(&nexts[which], found, __ATOMIC_RELAXED);
  return found;
}

// Finds libc's functions in a constructor. Later calls can come from a signal handler, which must not call dlsym,
// because dlsym takes the loader's lock.
__attribute__((constructor(101))) static void find_early(void) {
  for (int which = 0; which < FUNCTIONS; which++)
    next((function)which);
}

static bool read_capabilities(int tid, struct __user_cap_data_struct ret_data[2]) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = tid};
  memset(ret_data, 0, 2 * sizeof *ret_data);
  return cs_system_call(SYS_capget, (long)&header, (long)ret_data, 0, 0, 0, 0) == 0;
}

// Returns whether a thread of the shield has other privileges than the calling thread.
static bool have_other_rights(void) {
  struct __user_cap_data_struct here[2];
  // If another caller is restarting the shield's threads, waits at most one second until they have started, because
  // they get the privileges of that caller.
  cs_own_threads_await_return();
  if (!cs_shim_is_started() || !read_capabilities(0, here)) return false;
  for (int role = 0; role < CS_OWN_ROLES; role++) {
    struct __user_cap_data_struct there[2];
    const int tid = cs_own_tid((cs_own_role)role);
    if (tid != 0 && read_capabilities(tid, there) && memcmp(here, there, sizeof here) != 0) return true;
  }
  return false;
}

static int in_every_thread(long number, unsigned long first, unsigned long second, unsigned long third) {
  xid_command command = {.number = (int)number, .arguments = {first, second, third}};
  if (__nptl_setxid != NULL) return __nptl_setxid(&command);
  const long result = syscall(number, first, second, third);
  return (int)result;
}

// Ends the shield's threads, makes the call in the same way as libc, and starts the threads again. Keeps the threads if
// their privileges are the same as those of the calling thread.
#define CHANGE(which, name, call, number, first, second, third)                                                        \
  const bool is_aside = have_other_rights() && cs_own_threads_step_aside(true);                                        \
  __typeof__(name) *const libcs = (__typeof__(name) *)next(which);                                                     \
  const int result = libcs != NULL ? libcs call : in_every_thread(number, first, second, third);                       \
  if (is_aside) cs_own_threads_return();                                                                               \
  return result

#define SAME ((unsigned long)UINT32_MAX)

INTERPOSED int setuid(uid_t user) {
  CHANGE(SETUID, setuid, (user), SYS_setuid, user, 0, 0);
}

INTERPOSED int setgid(gid_t group) {
  CHANGE(SETGID, setgid, (group), SYS_setgid, group, 0, 0);
}

INTERPOSED int seteuid(uid_t user) {
  CHANGE(SETEUID, seteuid, (user), SYS_setresuid, SAME, user, SAME);
}

INTERPOSED int setegid(gid_t group) {
  CHANGE(SETEGID, setegid, (group), SYS_setresgid, SAME, group, SAME);
}

INTERPOSED int setreuid(uid_t real, uid_t effective) {
  CHANGE(SETREUID, setreuid, (real, effective), SYS_setreuid, real, effective, 0);
}

INTERPOSED int setregid(gid_t real, gid_t effective) {
  CHANGE(SETREGID, setregid, (real, effective), SYS_setregid, real, effective, 0);
}

INTERPOSED int setresuid(uid_t real, uid_t effective, uid_t saved) {
  CHANGE(SETRESUID, setresuid, (real, effective, saved), SYS_setresuid, real, effective, saved);
}

INTERPOSED int setresgid(gid_t real, gid_t effective, gid_t saved) {
  CHANGE(SETRESGID, setresgid, (real, effective, saved), SYS_setresgid, real, effective, saved);
}

INTERPOSED int setgroups(size_t count, const gid_t *groups) {
  CHANGE(SETGROUPS, setgroups, (count, groups), SYS_setgroups, count, (unsigned long)groups, 0);
}

#if defined(CS_PRELOAD)
// libc's initgroups calls libc's internal setgroups, so interposing setgroups does not affect initgroups. In an
// executable, initgroups is not interposed. If this code defined initgroups in a static executable, libc's own
// initgroups would be unreachable, because it has no second name.
INTERPOSED int initgroups(const char *user, gid_t group) {
  const bool is_aside = have_other_rights() && cs_own_threads_step_aside(true);
  __typeof__(initgroups) *const libcs = (__typeof__(initgroups) *)next(INITGROUPS);
  errno = ENOSYS;
  const int result = libcs != NULL ? libcs(user, group) : -1;
  if (is_aside) cs_own_threads_return();
  return result;
}
#endif

#define ONLY_ALONE (CLONE_NEWUSER | CLONE_THREAD | CLONE_SIGHAND | CLONE_VM)

INTERPOSED int unshare(int flags) {
  const bool is_aside = (flags & ONLY_ALONE) != 0 && cs_own_threads_step_aside(false);
  __typeof__(unshare) *const libcs = (__typeof__(unshare) *)next(UNSHARE);
  const int result = libcs != NULL ? libcs(flags) : (int)syscall(SYS_unshare, flags);
  if (is_aside) cs_own_threads_return();
  return result;
}

INTERPOSED int setns(int descriptor, int kind) {
  // If `kind` is 0, the descriptor's kind of namespace is unknown, so the shield's threads step aside too.
  const bool may_need = kind == 0 || (kind & (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWTIME)) != 0;
  const bool is_aside = may_need && cs_own_threads_step_aside(false);
  __typeof__(setns) *const libcs = (__typeof__(setns) *)next(SETNS);
  const int result = libcs != NULL ? libcs(descriptor, kind) : (int)syscall(SYS_setns, descriptor, kind);
  if (is_aside) cs_own_threads_return();
  return result;
}

#endif
