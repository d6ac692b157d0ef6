// The hook that the runtime calls in order to ask whether an executor is the current one. The hook is written in
// assembly: it stores the callee-saved registers of the calling runtime function in a cs_executor_asker, before
// compiled code changes them.
#include "cs_platform.h"

#if CS_SUPPORTED && defined(__x86_64__)

  .text
  .globl cs_executor_asked
  .hidden cs_executor_asked
  .type cs_executor_asked, @function
cs_executor_asked:
  .cfi_startproc
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  mov %rsp, %rbp
  .cfi_def_cfa_register %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, %rcx
  sub $8, %rsp
  call cs_executor_answer
  leave
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
  .size cs_executor_asked, . - cs_executor_asked

#endif

#if defined(__ELF__)
  .section .note.GNU-stack, "", %progbits
#endif
