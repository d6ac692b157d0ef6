// The stubs of the quarantine. Words in the metadata of listed classes, and in zombies (the metadata copies of objects
// in quarantine), point to these stubs. Each stub loads its index (of the class, or of the method's word in the
// metadata) and jumps to the code that all stubs of its kind share.
//
// There are CS_STUB_WORDS (1024) stubs for methods, the same number for async methods, and CS_QUARANTINE_CLASSES (2048)
// stubs for each kind of destroy function. Each stub is CS_STUB_BYTES (16) long.
#include "cs_platform.h"

#if CS_SUPPORTED && defined(__aarch64__)

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

// A stub starts with a landing pad for calls through a pointer: `hint #34` is `bti c`, which older assemblers do not
// support.
  .macro stubs count, target
  .set index, 0
  .rept \count
  .p2align 4
  hint #34
  mov w16, #index
  b \target
  .p2align 4
  .set index, index + 1
  .endr
  .endm

  .p2align 4
cs_stubs_absorb:
  stubs 2048, absorb
cs_stubs_now:
  stubs 2048, deinit_and_keep
cs_stubs_again:
  stubs 2048, again
cs_stubs_call:
  stubs 1024, call_common
cs_stubs_async:
  stubs 1024, async_common

// Offsets in a class and an object. Static assertions in destroy.c check them.
  .set CLASS_DESTROY, 0
  .set CLASS_KEEP, 8
  .set OBJECT_COUNTS, 8

// With Swift's calling convention (swiftcall), the object is in x20, which each function preserves. No other register
// contains an argument. The macro loads the class into x0, as the first argument of the C function.
//
// The runtime read the address of the stub from the metadata with a plain load. Without the barrier, the processor
// might have read the class before that address, when there was no class yet. The barrier pairs with the store of the
// address in class_table.c.
  .macro load_class
  dmb ishld
  adrp x0, cs_classes
  add x0, x0, :lo12:cs_classes
  ldr x0, [x0, x16, lsl #3]
  .endm

  .macro value register, high, middle, low
  mov \register, #\low
  .if \middle
  movk \register, #\middle, lsl #16
  .endif
  movk \register, #\high, lsl #32
  .endm

  .p2align 4
absorb:
  load_class
  b cs_quarantine_absorb

  .p2align 4
again:
  load_class
  b cs_quarantine_again

// For the policies zero and diagnose: claims the object, runs its deinit and puts it into a slot. This function is in
// assembly, so that it leaves no frame on the stack: the recorded stack of the release begins with the function of the
// runtime. The class is passed to the last function as the fourth argument, as on x86-64. The values of the counts are
// CS_COUNTS_LAST, the same with CS_COUNTS_CLAIM, and CS_COUNTS_DONE. Static assertions in destroy.c check them.
  .p2align 4
  .type deinit_and_keep, %function
deinit_and_keep:
  .cfi_startproc
  load_class
  value x9, 1, 0, 3
  value x10, 1, 0x200, 3
  add x11, x20, #OBJECT_COUNTS
1:
  ldaxr x12, [x11]
  cmp x12, x9
  b.ne 2f
  stlxr w13, x10, [x11]
  cbnz w13, 1b
  stp x29, x30, [sp, #-32]!
  .cfi_def_cfa_offset 32
  .cfi_offset x29, -32
  .cfi_offset x30, -24
  mov x29, sp
  str x0, [sp, #16]
  ldr x9, [x0, #CLASS_DESTROY]
  blr x9
  ldr x3, [sp, #16]
  ldp x29, x30, [sp], #32
  .cfi_def_cfa_offset 0
  .cfi_restore x29
  .cfi_restore x30
  value x9, 1, 0x200, 1
  add x11, x20, #OBJECT_COUNTS
  ldar x12, [x11]
  cmp x12, x9
  b.ne 3f
  // A jump through x16 is allowed to reach a landing pad for calls (`bti c`).
  ldr x16, [x3, #CLASS_KEEP]
  br x16
2:
  clrex
  b cs_quarantine_unclaimed
3:
  b cs_quarantine_referred
  .cfi_endproc
  .size deinit_and_keep, . - deinit_and_keep

// If a call must return zero, the second word of its result is this value, shifted left by 48 bits: 0xE000000000000000,
// the second word of the empty string. stubs_x86_64.S explains it.
  .set EMPTY_STRING, 0xE000

// Calls cs_quarantine_call(object, word, is_async, frame, context), and jumps to the code that it returns. All
// registers that may contain an argument are preserved: x0 to x7, x8 (indirect result) and q0 to q7. The called C
// function itself preserves x20 (self), x21 (error) and x22 (async context).
  .macro ask is_async
  .cfi_startproc
  stp x29, x30, [sp, #-224]!
  .cfi_def_cfa_offset 224
  .cfi_offset x29, -224
  .cfi_offset x30, -216
  mov x29, sp
  stp x0, x1, [sp, #16]
  stp x2, x3, [sp, #32]
  stp x4, x5, [sp, #48]
  stp x6, x7, [sp, #64]
  str x8, [sp, #80]
  stp q0, q1, [sp, #96]
  stp q2, q3, [sp, #128]
  stp q4, q5, [sp, #160]
  stp q6, q7, [sp, #192]
  mov x0, x20
  mov w1, w16
  mov w2, #\is_async
  mov x3, x29
  mov x4, x22
  bl cs_quarantine_call
  mov x16, x0
  ldp q0, q1, [sp, #96]
  ldp q2, q3, [sp, #128]
  ldp q4, q5, [sp, #160]
  ldp q6, q7, [sp, #192]
  ldp x0, x1, [sp, #16]
  ldp x2, x3, [sp, #32]
  ldp x4, x5, [sp, #48]
  ldp x6, x7, [sp, #64]
  ldr x8, [sp, #80]
  ldp x29, x30, [sp], #224
  .cfi_def_cfa_offset 0
  .cfi_restore x29
  .cfi_restore x30
  cbz x16, 1f
  br x16
1:
  movi v0.2d, #0
  movi v1.2d, #0
  movi v2.2d, #0
  movi v3.2d, #0
  mov x0, #0
  mov x1, #EMPTY_STRING << 48
  mov x2, #0
  mov x3, #0
  .endm

  .p2align 4
  .type call_common, %function
call_common:
  ask 0
  ret
  .cfi_endproc
  .size call_common, . - call_common

// An async function passes its results as arguments to its continuation. The address of the continuation is in word 1 of
// the context. The error is passed in x20.
  .p2align 4
  .type async_common, %function
async_common:
  ask 1
  mov x4, #0
  mov x20, #0
  ldr x16, [x22, #8]
  br x16
  .cfi_endproc
  .size async_common, . - async_common

#endif

#if defined(__ELF__)
  .section .note.GNU-stack, "", %progbits
#endif
