#include "confine_filter.h"
#include "cs_confine.h"
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

// A sanitizer reserves terabytes of addresses for its shadow and makes system calls of its own: under one, memory is
// not limited and calls are not filtered.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SHADOW_MEMORY 1
#endif
#endif

int cs_confine(void) {
  static const struct {
    __rlimit_resource_t resource;
    rlim_t value;
  } limits[] = {
      {RLIMIT_CORE, 0},
      {RLIMIT_NOFILE, 3},
      {RLIMIT_CPU, CS_CONFINE_CPU_S},
      {RLIMIT_FSIZE, CS_CONFINE_FILE_BYTES},
#ifndef HAS_SHADOW_MEMORY
      {RLIMIT_AS, CS_CONFINE_MEMORY_BYTES},
#endif
  };
  if (close_range(3, ~0U, 0) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
    return errno;
  // Going over RLIMIT_FSIZE is then an errno of write, not a death.
  if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR) return errno;
  for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
    // A lower limit of the parent stays: nothing can be raised without privilege.
    struct rlimit limit;
    if (getrlimit(limits[i].resource, &limit) != 0) return errno;
    if (limit.rlim_max > limits[i].value) limit.rlim_max = limits[i].value;
    if (limit.rlim_cur > limit.rlim_max) limit.rlim_cur = limit.rlim_max;
    if (setrlimit(limits[i].resource, &limit) != 0) return errno;
  }
#ifdef HAS_SHADOW_MEMORY
  return 0;
#else
  return cs_confine_filter_install();
#endif
}
