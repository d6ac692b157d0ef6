// The stubs of the quarantine. Words in the metadata of listed classes, and in zombies (the metadata copies of objects
// in quarantine), point to these stubs. Each stub loads its class, or the index of the method's word in the metadata,
// and jumps to the code that all stubs of its kind share.
//
// There are CS_STUB_WORDS (1024) stubs for methods, the same number for async methods, and CS_QUARANTINE_CLASSES (2048)
// stubs for each kind of destroy function. Each stub is CS_STUB_BYTES (16) long.
#include "cs_platform.h"

#if CS_SUPPORTED && defined(__x86_64__)

  .text
  .hidden cs_stubs_absorb
  .hidden cs_stubs_now
  .hidden cs_stubs_again
  .hidden cs_stubs_call
  .hidden cs_stubs_async
  .globl cs_stubs_absorb
  .globl cs_stubs_now
  .globl cs_stubs_again
  .globl cs_stubs_call
  .globl cs_stubs_async

// With Swift's calling convention (swiftcall), the object is in r13, which each function preserves. No other register
// contains an argument. The stub passes the class as the first argument.
  .macro destroy_stubs target
  .set index, 0
  .rept 2048
  .p2align 4
  movq cs_classes + 8 * index(%rip), %rdi
  jmp \target
  .p2align 4
  .set index, index + 1
  .endr
  .endm

  .p2align 4
cs_stubs_absorb:
  destroy_stubs cs_quarantine_absorb
cs_stubs_now:
  destroy_stubs deinit_and_keep
cs_stubs_again:
  destroy_stubs cs_quarantine_again

// Offsets in a class and an object, and values of the reference counts. Static assertions in destroy.c check them.
  .set CLASS_DESTROY, 0
  .set CLASS_KEEP, 8
  .set OBJECT_COUNTS, 8
  .set COUNTS_LAST, 0x100000003
  .set COUNTS_CLAIMED, 0x102000003
  .set COUNTS_DONE, 0x102000001

// For the policies zero and diagnose: claims the object, runs its deinit and puts it into a slot. A C function would
// save several registers around the call of the deinit, but only the class is needed after the call, so this function
// is in assembly. The class is passed to the last function as the fourth argument. This leaves the registers of the
// first three arguments free: the first one later holds the object that leaves the slot.
  .p2align 4
  .type deinit_and_keep, @function
deinit_and_keep:
  .cfi_startproc
  movabsq $COUNTS_LAST, %rax
  movabsq $COUNTS_CLAIMED, %rcx
  lock cmpxchgq %rcx, OBJECT_COUNTS(%r13)
  jne cs_quarantine_unclaimed
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  callq *CLASS_DESTROY(%rdi)
  popq %rcx
  .cfi_adjust_cfa_offset -8
  movabsq $COUNTS_DONE, %rax
  cmpq %rax, OBJECT_COUNTS(%r13)
  jne cs_quarantine_referred
  jmpq *CLASS_KEEP(%rcx)
  .cfi_endproc
  .size deinit_and_keep, . - deinit_and_keep

  .p2align 4
cs_stubs_call:
  .set index, 0
  .rept 1024
  .p2align 4
  movl $index, %r11d
  jmp call_common
  .p2align 4
  .set index, index + 1
  .endr

  .p2align 4
cs_stubs_async:
  .set index, 0
  .rept 1024
  .p2align 4
  movl $index, %r11d
  jmp async_common
  .p2align 4
  .set index, index + 1
  .endr

// If a call must return zero, the second word of its result is this value: that of the empty string, because a String
// of two zero words is invalid. It is harmless if the result is an optional, a Double, a Data or a reference. If the
// result consists of two integers, the caller gets this value as the second one.
  .set EMPTY_STRING, 0xE000000000000000

// Calls cs_quarantine_call(object, word, is_async, frame, context), and jumps to the code that it returns. All
// registers that may contain an argument are preserved: the six argument registers of C, rax (indirect result), r12
// (error), r13 (self) and r14 (async context).
  .macro ask is_async
  .cfi_startproc
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  pushq %rdi
  pushq %rsi
  pushq %rdx
  pushq %rcx
  pushq %r8
  pushq %r9
  pushq %rax
  pushq %r10
  subq $128, %rsp
  andq $-16, %rsp
  movups %xmm0, 0(%rsp)
  movups %xmm1, 16(%rsp)
  movups %xmm2, 32(%rsp)
  movups %xmm3, 48(%rsp)
  movups %xmm4, 64(%rsp)
  movups %xmm5, 80(%rsp)
  movups %xmm6, 96(%rsp)
  movups %xmm7, 112(%rsp)
  movq %r13, %rdi
  movl %r11d, %esi
  movl $\is_async, %edx
  movq %rbp, %rcx
  movq %r14, %r8
  call cs_quarantine_call
  movq %rax, %r11
  movups 0(%rsp), %xmm0
  movups 16(%rsp), %xmm1
  movups 32(%rsp), %xmm2
  movups 48(%rsp), %xmm3
  movups 64(%rsp), %xmm4
  movups 80(%rsp), %xmm5
  movups 96(%rsp), %xmm6
  movups 112(%rsp), %xmm7
  leaq -64(%rbp), %rsp
  popq %r10
  popq %rax
  popq %r9
  popq %r8
  popq %rcx
  popq %rdx
  popq %rsi
  popq %rdi
  popq %rbp
  .cfi_def_cfa %rsp, 8
  testq %r11, %r11
  je 1f
  jmpq *%r11
1:
  xorps %xmm0, %xmm0
  xorps %xmm1, %xmm1
  xorps %xmm2, %xmm2
  xorps %xmm3, %xmm3
  xorl %ecx, %ecx
  xorl %r8d, %r8d
  .endm

  .p2align 4
  .type call_common, @function
call_common:
  ask 0
  xorl %eax, %eax
  movabsq $EMPTY_STRING, %rdx
  ret
  .cfi_endproc
  .size call_common, . - call_common

// An async function passes its results as arguments to its continuation. The address of the continuation is in word 1
// of the context. The error is passed in r13.
  .p2align 4
  .type async_common, @function
async_common:
  ask 1
  xorl %edi, %edi
  movabsq $EMPTY_STRING, %rsi
  xorl %edx, %edx
  xorl %r13d, %r13d
  jmpq *8(%r14)
  .cfi_endproc
  .size async_common, . - async_common

#endif

#if defined(__ELF__)
  .section .note.GNU-stack, "", %progbits
#endif
