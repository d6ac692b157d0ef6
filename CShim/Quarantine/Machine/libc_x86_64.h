// The number that the kernel gave a thread, where glibc keeps it: one instruction. That it is there is looked at by
// cs_quarantine_check; where it is not, each object goes the long way, which asks the kernel once a thread.
#ifndef CS_LIBC_X86_64_H
#define CS_LIBC_X86_64_H

#include <stdint.h>

#define CS_LIBC_THREAD_OFFSET 0x2d0 // keep_x86_64.S has the same

static inline uint32_t cs_libc_thread(void) {
  uint32_t number;
  __asm__ volatile("movl %%fs:%c[offset], %[number]" : [number] "=r"(number) : [offset] "i"(CS_LIBC_THREAD_OFFSET));
  return number;
}

#endif
