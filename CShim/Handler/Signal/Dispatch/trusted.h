// The outside functions that the handler may call, with the reason why each is safe there. Nothing else is trusted:
// system calls are made directly (system_call.h). scripts/check/signal-safe-symbols.txt is the same list for the
// linker's view.
#ifndef CS_TRUSTED_H
#define CS_TRUSTED_H

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "cs_signal_safe.h"

// glibc >= 2.35 documents it as async-signal-safe: it reads a lock-free tree, and never takes the loader lock.
extern int _dl_find_object(void *pc, struct dl_find_object *ret_object) SIGNAL_SAFE;

// POSIX: async-signal-safe. For most clocks used here it is a read of the vdso's page, for a thread's processor time a
// system call.
extern int clock_gettime(clockid_t clock, struct timespec *ret_time) SIGNAL_SAFE;

// POSIX (since 2008 TC2): async-signal-safe. Compilers call them for assignments, too.
extern void *memcpy(void *restrict to, const void *restrict from, size_t size) SIGNAL_SAFE;
extern void *memset(void *to, int byte, size_t size) SIGNAL_SAFE;
extern int memcmp(const void *left, const void *right, size_t size) SIGNAL_SAFE;

static inline uint64_t cs_clock_ns(clockid_t clock) SIGNAL_SAFE {
  struct timespec time = {0};
  clock_gettime(clock, &time);
  return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

#endif
