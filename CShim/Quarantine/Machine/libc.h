// The implementation details of glibc that the quarantine uses: the header of a heap chunk, and the offset of the
// kernel's thread ID in the thread control block.
#ifndef CS_LIBC_X86_64_H
#define CS_LIBC_X86_64_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

extern bool cs_heap_is_glibc; // whether Swift allocates objects with glibc's malloc
extern bool cs_libc_is_glibc; // whether the thread ID is at the offset that cs_libc_thread() reads

// Sets cs_heap_is_glibc and cs_libc_is_glibc. If the thread ID is not at the expected offset, each last release takes
// the slow path. On the slow path, each thread gets its ID once from the kernel.
void cs_libc_check(void);

#pragma GCC visibility pop

// Returns the size of an object's chunk. The word in front of the object contains this size, and three flags of malloc
// in the lowest bits. Precondition: cs_heap_is_glibc.
static inline uint64_t cs_chunk_bytes(const void *object) {
  return ((const uint64_t *)object)[-1] & ~UINT64_C(7);
}

#define CS_LIBC_THREAD_OFFSET 0x2d0 // keep_x86_64.S contains the same number

static inline uint32_t cs_libc_thread(void) {
  uint32_t number;
  __asm__ volatile("movl %%fs:%c[offset], %[number]" : [number] "=r"(number) : [offset] "i"(CS_LIBC_THREAD_OFFSET));
  return number;
}

#endif
