// The system call instruction of AArch64.
#ifndef CS_SYSTEM_CALL_AARCH64_H
#define CS_SYSTEM_CALL_AARCH64_H
#if defined(__aarch64__)

#include "cs_signal_safe.h"

// All arguments are `long`. If an argument were an int, the upper half of its register would be undefined, and some
// system calls read the upper half.
static inline long cs_system_call(long number, long a, long b, long c, long d, long e, long f) SIGNAL_SAFE {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
}

#endif
#endif
