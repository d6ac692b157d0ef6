// Instructions that fault while every register except rdx points to a freed block. rdx has the faulting address.
#ifndef CS_VERDICTS_STALE_X86_64_H
#define CS_VERDICTS_STALE_X86_64_H

#include <stdint.h>

#define STALE_FAULT(name, instruction)                                                                                 \
  static inline void name(uint64_t address, void *const *stale) {                                                      \
    __asm__ volatile("movq 0(%%rcx), %%rax\n\tmovq 8(%%rcx), %%rsi\n\tmovq 16(%%rcx), %%rdi\n\t"                       \
                     "movq 24(%%rcx), %%r8\n\tmovq 32(%%rcx), %%r9\n\tmovq 40(%%rcx), %%r10\n\t"                       \
                     "movq 48(%%rcx), %%r11\n\tmovq 56(%%rcx), %%r12\n\tmovq 64(%%rcx), %%r13\n\t"                     \
                     "movq 72(%%rcx), %%r14\n\tmovq 80(%%rcx), %%r15\n\tmovq 88(%%rcx), %%rcx\n\t" instruction         \
                     : "+c"(stale)                                                                                     \
                     : "d"(address)                                                                                    \
                     : "rax", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc");     \
  }

STALE_FAULT(stale_read, "movq (%%rdx), %%rax")
STALE_FAULT(stale_write, "movq %%rax, (%%rdx)")
STALE_FAULT(stale_jump, "callq *%%rdx")

#endif
