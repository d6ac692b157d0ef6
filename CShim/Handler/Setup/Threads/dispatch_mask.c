// Interposes pthread_sigmask, so that Dispatch's threads, which also run Swift tasks, do not block SIGABRT.
//
// Dispatch blocks all signals on its threads, except those of faults, SIGPIPE and SIGPROF. Up to glibc 2.41, abort()
// first unblocks SIGABRT. Since glibc 2.42, it raises SIGABRT first, and unblocks it only after it has removed the
// handler. A crash by abort() on a thread of Dispatch, for example a failed forced cast, would have no record.
//
// The definition is weak: in a static executable, another function of libc can require libc's own definition, which the
// linker then uses.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// Sanitizers intercept pthread_sigmask themselves, so this file defines nothing in their builds.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(hwaddress_sanitizer) || __has_feature(memory_sanitizer) ||       \
    __has_feature(thread_sanitizer)
#define CS_LEAVES_MASKS_ALONE
#endif
#endif

#ifndef CS_LEAVES_MASKS_ALONE

// glibc uses these signals itself, and its pthread_sigmask blocks neither of them.
#define CANCEL 32
#define SETXID 33

static uint64_t bit(int signal) {
  return UINT64_C(1) << (signal - 1);
}

// The signal set that Dispatch blocks on its threads (_dispatch_sigmask). Whether it contains SIGPROF does not matter,
// because versions of Dispatch differ in this.
static bool is_dispatch_set(uint64_t set) {
  const uint64_t open =
      bit(SIGILL) | bit(SIGTRAP) | bit(SIGFPE) | bit(SIGBUS) | bit(SIGSEGV) | bit(SIGSYS) | bit(SIGPIPE);
  const uint64_t ignored = bit(SIGPROF) | bit(CANCEL) | bit(SETXID);
  return (set | open | ignored) == UINT64_MAX && (set & open) == 0;
}

__attribute__((weak, visibility("default"))) int pthread_sigmask(int how, const sigset_t *set, sigset_t *ret_before) {
  const int before = errno;
  uint64_t wanted = 0;
  if (set != NULL) {
    memcpy(&wanted, set, sizeof wanted);
    if (how == SIG_BLOCK && is_dispatch_set(wanted)) wanted &= ~bit(SIGABRT);
    wanted &= ~(bit(CANCEL) | bit(SETXID));
  }
  // The kernel writes only the first 64 signals to `ret_before`, as with glibc's function.
  const long result = syscall(SYS_rt_sigprocmask, how, set == NULL ? NULL : &wanted, ret_before, sizeof wanted);
  const int error = result == 0 ? 0 : errno;
  errno = before;
  return error;
}
#endif

#endif
