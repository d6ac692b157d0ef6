// The external functions that the handler may call. The comment of each function states why it is signal-safe. The
// handler makes system calls directly (system_call.h), so system calls are not listed here.
// scripts/check/signal-safe-symbols.txt lists the same functions as linker symbols.
#ifndef CS_TRUSTED_H
#define CS_TRUSTED_H

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "cs_signal_safe.h"

// Signal safety: documented by glibc >= 2.35. The function reads a lock-free tree and never takes the loader lock.
extern int _dl_find_object(void *pc, struct dl_find_object *ret_object) SIGNAL_SAFE;

// Signal safety: POSIX. Most clocks that the handler uses only read memory that the kernel shares (vDSO). The clock of
// a thread's processor time needs a system call.
extern int clock_gettime(clockid_t clock, struct timespec *ret_time) SIGNAL_SAFE;

// Signal safety: POSIX (since 2008 TC2). Compilers also generate calls of these functions, for example for assignments
// of structures.
extern void *memcpy(void *restrict to, const void *restrict from, size_t size) SIGNAL_SAFE;
extern void *memset(void *to, int byte, size_t size) SIGNAL_SAFE;
extern int memcmp(const void *left, const void *right, size_t size) SIGNAL_SAFE;

static inline uint64_t cs_clock_ns(clockid_t clock) SIGNAL_SAFE {
  struct timespec time = {0};
  clock_gettime(clock, &time);
  return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

#endif
