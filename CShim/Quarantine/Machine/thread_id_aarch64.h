// Reads the kernel's thread ID in glibc's thread control block. The block ends at the thread pointer, so the distance
// of the ID depends on the size of the block, which differs between versions of glibc.
#ifndef CS_THREAD_ID_AARCH64_H
#define CS_THREAD_ID_AARCH64_H
#if defined(__aarch64__)

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

// The distance of the ID from the thread pointer, in bytes. Ordering: written once, before the first class is listed.
extern int64_t cs_libc_thread_distance;

// Prepares cs_libc_thread(). Returns false if cs_libc_thread() cannot work in this process.
bool cs_libc_find_thread(void);

#pragma GCC visibility pop

static inline uint32_t cs_libc_thread(void) {
  uint64_t pointer;
  __asm__("mrs %0, tpidr_el0" : "=r"(pointer));
  return *(const volatile uint32_t *)(pointer + (uint64_t)cs_libc_thread_distance);
}

#endif
#endif
