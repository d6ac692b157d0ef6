// The instructions of tests that depend on the architecture.
#ifndef CS_TEST_INSTRUCTIONS_H
#define CS_TEST_INSTRUCTIONS_H

#include <stdint.h>
#include <ucontext.h>

static inline void cs_test_undefined_instruction(void) {
#if defined(__aarch64__)
  __asm__ volatile("udf #0");
#else
  __asm__ volatile("ud2");
#endif
}

// A breakpoint. The thread continues after it if a handler returns. On AArch64, the pc stays at the breakpoint, so the
// handler must call cs_test_skip_breakpoint().
static inline void cs_test_breakpoint(void) {
#if defined(__aarch64__)
  __asm__ volatile("brk #0" : : : "memory");
#else
  __asm__ volatile("int3" : : : "memory");
#endif
}

static inline void cs_test_skip_breakpoint(void *context) {
#if defined(__aarch64__)
  ((ucontext_t *)context)->uc_mcontext.pc += 4;
#else
  (void)context;
#endif
}

// Executes a breakpoint again and again, without end.
static inline void cs_test_breakpoint_forever(void) {
  for (;;)
    cs_test_breakpoint();
}

// Writes to the address 8, while two registers have the given values.
static inline void cs_test_fault_with(const void *first, const void *second) {
#if defined(__aarch64__)
  __asm__ volatile("mov x19, %0\n mov x20, %1\n mov x9, #8\n str wzr, [x9]"
                   :
                   : "r"(first), "r"(second)
                   : "x9", "x19", "x20", "memory");
#else
  __asm__ volatile("movq %0, %%rbx\n movq %1, %%r12\n movl $1, 8" : : "r"(first), "r"(second) : "rbx", "r12", "memory");
#endif
}

// Writes to `page` while a vector register has the value `before`. Returns the value of the register after the write.
static inline uint64_t cs_test_vector_over_write(uint64_t before, volatile uint8_t *page) {
  uint64_t after;
#if defined(__aarch64__)
  __asm__ volatile("fmov d0, %1\n"
                   "strb %w1, [%2]\n"
                   "fmov %0, d0"
                   : "=r"(after)
                   : "r"(before), "r"(page)
                   : "v0", "memory");
#else
  __asm__ volatile("movq %1, %%xmm0\n"
                   "movb $1, (%2)\n"
                   "movq %%xmm0, %0"
                   : "=r"(after)
                   : "r"(before), "r"(page)
                   : "xmm0", "memory");
#endif
  return after;
}

static inline uint64_t cs_test_stack_pointer(const ucontext_t *context) {
#if defined(__aarch64__)
  return context->uc_mcontext.sp;
#else
  return (uint64_t)context->uc_mcontext.gregs[REG_RSP];
#endif
}

static inline uint64_t cs_test_pc(const ucontext_t *context) {
#if defined(__aarch64__)
  return context->uc_mcontext.pc;
#else
  return (uint64_t)context->uc_mcontext.gregs[REG_RIP];
#endif
}

#endif
