// The system call instruction of x86-64.
#ifndef CS_SYSTEM_CALL_X86_64_H
#define CS_SYSTEM_CALL_X86_64_H
#if defined(__x86_64__)

#include "cs_signal_safe.h"

// All arguments are `long`. If an argument were an int, the upper half of its register would be undefined, and some
// system calls read the upper half.
static inline long cs_system_call(long number, long a, long b, long c, long d, long e, long f) SIGNAL_SAFE {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

#endif
#endif
