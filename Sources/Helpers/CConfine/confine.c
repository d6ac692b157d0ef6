#include "cs_confine.h"
#include "filter.h"
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// A build with a sanitizer does not limit memory, because sanitizers reserve terabytes of address space for shadow
// memory. A build with a sanitizer also does not filter system calls, because sanitizers make their own system calls.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SHADOW_MEMORY 1
#endif
#endif

struct limit {
  __rlimit_resource_t resource;
  rlim_t value;
};

static int lower(const struct limit *limits, size_t count) {
  for (size_t i = 0; i < count; i++) {
    // Keep a limit from the parent that is lower than the requested limit, because raising a hard limit requires
    // privileges.
    struct rlimit limit;
    if (getrlimit(limits[i].resource, &limit) != 0) return errno;
    if (limit.rlim_max > limits[i].value) limit.rlim_max = limits[i].value;
    if (limit.rlim_cur > limit.rlim_max) limit.rlim_cur = limit.rlim_max;
    if (setrlimit(limits[i].resource, &limit) != 0) return errno;
  }
  return 0;
}

static int confine(rlim_t descriptors, rlim_t file_bytes, rlim_t cpu_s, rlim_t memory_bytes, enum cs_filter_kind kind) {
  const struct limit limits[] = {
      {RLIMIT_CORE, 0},          {RLIMIT_NOFILE, descriptors}, {RLIMIT_CPU, cpu_s}, {RLIMIT_FSIZE, file_bytes},
#ifndef HAS_SHADOW_MEMORY
      {RLIMIT_AS, memory_bytes},
#endif
  };
  if (close_range(3, ~0U, 0) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
    return errno;
  // With SIGXFSZ ignored, a write beyond RLIMIT_FSIZE fails with an errno and does not end the process.
  if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR) return errno;
  const int code = lower(limits, sizeof limits / sizeof limits[0]);
  if (code != 0) return code;
#ifdef HAS_SHADOW_MEMORY
  (void)memory_bytes;
  (void)kind;
  return 0;
#else
  return cs_filter_install(kind);
#endif
}

int cs_confine(void) {
  return confine(3, CS_CONFINE_FILE_BYTES, CS_CONFINE_CPU_S, CS_CONFINE_MEMORY_BYTES, CS_FILTER_READ);
}

// Bounds for the measured CPU time of the start of this process. The lower bound is needed because shorter times cannot
// be measured exactly. The upper bound is needed because a start under a sanitizer takes much longer.
#define SHORTEST_START_NS UINT64_C(2000000)
#define LONGEST_START_NS  UINT64_C(250000000)

static int limit_cpu(uint64_t image_bytes) {
  struct timespec now;
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) != 0) return errno;
  uint64_t start_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
  if (start_ns < SHORTEST_START_NS) start_ns = SHORTEST_START_NS;
  if (start_ns > LONGEST_START_NS) start_ns = LONGEST_START_NS;
  const uint64_t limit_ns = start_ns * (CS_CONFINE_STARTS + image_bytes / CS_CONFINE_BYTES_PER_START);
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
  timer_t timer;
  if (timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer) != 0) return errno;
  const struct itimerspec once = {
      .it_value = {.tv_sec = (time_t)(limit_ns / 1000000000), .tv_nsec = (long)(limit_ns % 1000000000)}};
  return timer_settime(timer, 0, &once, NULL) == 0 ? 0 : errno;
}

int cs_confine_image(int image) {
  struct stat status;
  if (fstat(image, &status) != 0) return errno;
  uint64_t cpu_s = CS_CONFINE_CPU_S;
  uint64_t memory_bytes = CS_CONFINE_MEMORY_BYTES;
  // Only a regular file has a size. For any other file, use the limits of a large image.
  if (S_ISREG(status.st_mode) && (uint64_t)status.st_size < CS_CONFINE_MEMORY_BYTES) {
    const uint64_t bytes = (uint64_t)status.st_size;
    const uint64_t own_cpu_s = CS_CONFINE_BASE_CPU_S + bytes / CS_CONFINE_BYTES_PER_S;
    const uint64_t own_memory_bytes = CS_CONFINE_BASE_MEMORY_BYTES + bytes * CS_CONFINE_MEMORY_FACTOR;
    if (own_cpu_s < cpu_s) cpu_s = own_cpu_s;
    if (own_memory_bytes < memory_bytes) memory_bytes = own_memory_bytes;
    const int code = limit_cpu(bytes);
    if (code != 0) return code;
  }
  return confine(3, CS_CONFINE_FILE_BYTES, cpu_s, memory_bytes, CS_FILTER_READ);
}

int cs_confine_fetch(uint64_t file_bytes) {
  return confine(CS_CONFINE_FETCH_DESCRIPTORS, file_bytes, CS_CONFINE_FETCH_CPU_S, CS_CONFINE_MEMORY_BYTES,
                 CS_FILTER_FETCH);
}
