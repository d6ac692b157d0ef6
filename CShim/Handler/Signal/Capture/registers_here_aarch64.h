// Reads registers of the calling thread at the call site.
#ifndef CS_REGISTERS_HERE_AARCH64_H
#define CS_REGISTERS_HERE_AARCH64_H
#if defined(__aarch64__)

#include "cs_ring.h"
#include "registers.h"

// Reads the registers that an unwind of the calling function needs, indexed by DWARF number. At a call, the other
// registers have no defined values, so they are not read.
__attribute__((always_inline)) static inline void cs_registers_here(cs_ring_registers *ret_registers) SIGNAL_SAFE {
  uint64_t *const to = ret_registers->general;
  uint64_t pc, stack_pointer;
  __asm__ volatile("stp x19, x20, [%2, #152]\n"
                   "stp x21, x22, [%2, #168]\n"
                   "stp x23, x24, [%2, #184]\n"
                   "stp x25, x26, [%2, #200]\n"
                   "stp x27, x28, [%2, #216]\n"
                   "stp x29, x30, [%2, #232]\n"
                   "mov %1, sp\n"
                   "adr %0, .\n"
                   : "=&r"(pc), "=&r"(stack_pointer)
                   : "r"(to)
                   : "memory");
  to[CS_REGISTER_STACK_POINTER] = stack_pointer;
  to[CS_REGISTER_PC] = pc;
  ret_registers->general_count = CS_REGISTER_COUNT;
}

// The offset of dtv in glibc's thread control block, to which the thread pointer points: { dtv, … }.
#define CS_THREAD_DTV 0

// Returns the thread pointer, relative to which thread-local variables are addressed. The code that a compiler
// generates for thread-locals is not always signal-safe.
static inline uint64_t cs_thread_pointer(void) SIGNAL_SAFE {
  uint64_t pointer;
  __asm__("mrs %0, tpidr_el0" : "=r"(pointer));
  return pointer;
}

#endif
#endif
