// The hook that the runtime calls in order to ask whether an executor is the current one. The hook is written in
// assembly: it stores the callee-saved registers of the calling runtime function in a cs_executor_asker, before
// compiled code changes them.
#include "cs_platform.h"

#if CS_SUPPORTED && defined(__aarch64__)

// The runtime calls the hook through a pointer, so the function starts with a landing pad (`bti c`). It does not sign
// its return address, because the field `return_address` of cs_executor_asker must contain a plain code address.
  .text
  .p2align 2
  .globl cs_executor_asked
  .hidden cs_executor_asked
  .type cs_executor_asked, %function
cs_executor_asked:
  .cfi_startproc
  hint #34 // bti c, which older assemblers do not support
  stp x19, x20, [sp, #-96]!
  .cfi_def_cfa_offset 96
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  .cfi_offset x29, -16
  .cfi_offset x30, -8
  add x29, sp, #80
  .cfi_def_cfa x29, 16
  mov x3, sp
  bl cs_executor_answer
  .cfi_def_cfa sp, 96
  ldp x29, x30, [sp, #80]
  add sp, sp, #96
  .cfi_def_cfa_offset 0
  .cfi_restore x29
  .cfi_restore x30
  ret
  .cfi_endproc
  .size cs_executor_asked, . - cs_executor_asked

#endif

#if defined(__ELF__)
  .section .note.GNU-stack, "", %progbits
#endif
