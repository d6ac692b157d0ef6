// Reads registers of the calling thread at the call site.
#ifndef CS_REGISTERS_HERE_X86_64_H
#define CS_REGISTERS_HERE_X86_64_H
#if defined(__x86_64__)

#include "cs_ring.h"
#include "registers.h"

// Reads the registers that an unwind of the calling function needs, indexed by DWARF number. At a call, the other
// registers have no defined values, so they are not read.
__attribute__((always_inline)) static inline void cs_registers_here(cs_ring_registers *ret_registers) SIGNAL_SAFE {
  uint64_t *const to = ret_registers->general;
  uint64_t pc;
  __asm__ volatile("movq %%rbx, 24(%1)\n"
                   "movq %%rbp, 48(%1)\n"
                   "movq %%rsp, 56(%1)\n"
                   "movq %%r12, 96(%1)\n"
                   "movq %%r13, 104(%1)\n"
                   "movq %%r14, 112(%1)\n"
                   "movq %%r15, 120(%1)\n"
                   "leaq 0f(%%rip), %0\n"
                   "0:\n"
                   : "=&r"(pc)
                   : "r"(to)
                   : "memory");
  to[CS_REGISTER_PC] = pc;
  ret_registers->general_count = CS_REGISTER_COUNT;
}

// The offset of dtv in glibc's thread control block, to which the thread pointer points: { own address, dtv, … }.
#define CS_THREAD_DTV 8

// Returns the thread pointer, relative to which thread-local variables are addressed. The code that a compiler
// generates for thread-locals may not be signal-safe.
static inline uint64_t cs_thread_pointer(void) SIGNAL_SAFE {
  uint64_t pointer;
  __asm__("movq %%fs:0, %0" : "=r"(pointer));
  return pointer;
}

#endif
#endif
