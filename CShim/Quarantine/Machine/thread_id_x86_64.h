// Reads the kernel's thread ID in glibc's thread control block.
#ifndef CS_THREAD_ID_X86_64_H
#define CS_THREAD_ID_X86_64_H
#if defined(__x86_64__)

#include <stdbool.h>
#include <stdint.h>

#define CS_LIBC_THREAD_OFFSET 0x2d0 // keep_x86_64.S contains the same number

// Prepares cs_libc_thread(). Returns false if it cannot work.
static inline bool cs_libc_find_thread(void) {
  return true;
}

static inline uint32_t cs_libc_thread(void) {
  uint32_t number;
  __asm__ volatile("movl %%fs:%c[offset], %[number]" : [number] "=r"(number) : [offset] "i"(CS_LIBC_THREAD_OFFSET));
  return number;
}

#endif
#endif
