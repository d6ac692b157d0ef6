// The implementation details of glibc that the quarantine uses: the header of a heap chunk, and the kernel's thread ID
// in the thread control block.
#ifndef CS_LIBC_H
#define CS_LIBC_H

#include <stdbool.h>
#include <stdint.h>

#include "thread_id_aarch64.h"
#include "thread_id_x86_64.h"

#pragma GCC visibility push(hidden)

extern bool cs_heap_is_glibc; // whether Swift allocates objects with glibc's malloc
extern bool cs_libc_is_glibc; // whether cs_libc_thread() returns the thread ID

// Sets cs_heap_is_glibc and cs_libc_is_glibc. If cs_libc_is_glibc is false, each last release takes the slow path, on
// which each thread gets its ID once from the kernel.
void cs_libc_check(void);

#pragma GCC visibility pop

// Returns the size of an object's chunk. The word in front of the object contains this size, and three flags of malloc
// in the lowest bits. Precondition: cs_heap_is_glibc.
static inline uint64_t cs_chunk_bytes(const void *object) {
  return ((const uint64_t *)object)[-1] & ~UINT64_C(7);
}

#endif
