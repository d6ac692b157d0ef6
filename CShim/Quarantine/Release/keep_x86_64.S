// Puts an object into a slot of its class. Precondition: the class has the policy zero or diagnose, no stack is
// recorded, and the fields are two words. The code does the same as cs_queue_put (queue.h), but writes the fields last.
// If it evicts an unchanged object from the next slot, it needs no stack frame and saves no register. Otherwise (labels
// 3 to 6), it calls a C function.
#include "cs_platform.h"

#if CS_SUPPORTED && defined(__x86_64__)

// These numbers are the same as in slot.h, class.h and abi.h. Static assertions in queue.c check them.
  .set OBJECT_ISA, 0
  .set OBJECT_COUNTS, 8
  .set OBJECT_FIRST, 16
  .set OBJECT_SECOND, 24
  .set COUNTS_DONE, 0x102000001
  .set CLASS_METADATA, 16
  .set CLASS_ZOMBIE, 24
  .set CLASS_COUNTS, 40
  .set CLASS_BOUND, 48
  .set CLASS_IS_LISTED, 56
  .set CLASS_TURN, 64
  .set COUNTS_ADMITTED, 0
  .set COUNTS_EVICTED, 8
  .set SLOT_BYTES, 64
  .set SLOT_TICKS, 8
  .set SLOT_LABEL, 16
  .set LABEL_NUMBER, 2
  .set LABEL_MARK, 6
  .set SLOT_WHO, 24
  .set SLOT_PAST, 32
  .set SLOT_PAST_TICKS, 40
  .set SLOT_PAST_LABEL, 48
  .set NUMBER_STRIDE, (648055 << 12) - (1 << 32) // the same value as a signed 32-bit number
  .set MARK_ZERO, 1
  .set THREAD_NUMBER, 0x2d0 // the same value as in thread_id_x86_64.h
  .set POLICY_ZERO, 1
  .set POLICY_DIAGNOSE, 2

// Opens a stack frame before the call of a C function. With this frame, unwinders that use frame pointers find the
// caller of the last release. The recorded stack of the release starts at the address of this frame.
  .macro open_frame
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  .endm

  .macro close_frame
  popq %rbp
  .cfi_def_cfa %rsp, 8
  .cfi_restore %rbp
  .endm

// The function deinit_and_keep (stubs_x86_64.S) jumps here. Register rcx contains the class. Register r13 contains the
// object, which is claimed and whose deinit has run. Register rax contains COUNTS_DONE.
  .macro keep name, policy
  .p2align 4
  .globl \name
  .hidden \name
  .type \name, @function
\name:
  .cfi_startproc
  // Register rsi contains the slot that is next in turn.
  movl $SLOT_BYTES, %esi
  lock xaddq %rsi, CLASS_TURN(%rcx)
  cmpq CLASS_BOUND(%rcx), %rsi
  jae 3f
1:// Register rdi contains the slot's old object, or CS_SLOT_EMPTY or CS_SLOT_BUSY, whose counts no object has.
  leaq cs_slot_marks(%rip), %rdi
  xchgq %rdi, (%rsi)
  cmpq %rax, OBJECT_COUNTS(%rdi)
  jne 5f
  // Check that the old object (the one in the slot) has the same policy and unchanged fields. All objects of the class
  // have one size, so the new object is charged to the memory budget with the same number of bytes. Chunks of malloc
  // can differ by a remainder that was too small for another chunk. The budget ignores it.
  .if \policy == POLICY_ZERO
  cmpw $MARK_ZERO, SLOT_LABEL + LABEL_MARK(%rsi)
  jne 5f
  movq OBJECT_FIRST(%rdi), %r8
  orq OBJECT_SECOND(%rdi), %r8
  jne 5f
  .else
  movq SLOT_LABEL(%rsi), %r8
  cmpq %r8, OBJECT_FIRST(%rdi)
  jne 5f
  cmpq %r8, OBJECT_SECOND(%rdi)
  jne 5f
  .endif
  // The old object's data moves to the second half of the slot, which describes the slot's previous object.
  movq %rdi, SLOT_PAST(%rsi)
  movq SLOT_TICKS(%rsi), %r8
  movq %r8, SLOT_PAST_TICKS(%rsi)
  movups SLOT_LABEL(%rsi), %xmm0
  movups %xmm0, SLOT_PAST_LABEL(%rsi)
  // Write the data of the new object, beginning with the ticks (the time of its last release). The record number is
  // incremented as a 32-bit number, so that an overflow changes no other bits of the label.
  rdtsc
  movl %eax, SLOT_TICKS(%rsi)
  movl %edx, SLOT_TICKS + 4(%rsi)
  addl $NUMBER_STRIDE, SLOT_LABEL + LABEL_NUMBER(%rsi)
  movl %fs:THREAD_NUMBER, %eax
  movq %rax, SLOT_WHO(%rsi) // 0: no stack
  // Make the object a zombie (let it point to the metadata copy of its class) before the slot is unlocked. As soon as
  // the slot is unlocked, another thread may evict the object and free it.
  movq CLASS_ZOMBIE(%rcx), %rax
  movq %rax, OBJECT_ISA(%r13)
  // Write the fields. The label is read as late as possible, because the processor delays a load that follows a store
  // to a part of the same word.
  .if \policy == POLICY_ZERO
  xorps %xmm0, %xmm0
  movups %xmm0, OBJECT_FIRST(%r13)
  .else
  movq SLOT_LABEL(%rsi), %r8
  movq %r8, OBJECT_FIRST(%r13)
  movq %r8, OBJECT_SECOND(%r13)
  .endif
  movq %r13, (%rsi)
  // The locked increment is also a fence between the store to the slot and the load of is_listed. The fence pairs with
  // the fence in cs_quarantine_unlist: if that function has visited this slot before the store, this thread reads that
  // the class is no longer listed.
  movq CLASS_COUNTS(%rcx), %rax
  lock incq COUNTS_ADMITTED(%rax)
  lock incq COUNTS_EVICTED(%rax)
  cmpl $1, CLASS_IS_LISTED(%rcx)
  jne 6f
  movq CLASS_METADATA(%rcx), %rax
  movq %rax, OBJECT_ISA(%rdi)
  jmpq *free@GOTPCREL(%rip)

3:// cs_queue_turn(class, turn): the turn is not below the bound (class.h).
  pushq %rcx
  .cfi_adjust_cfa_offset 8
  movq %rcx, %rdi
  callq cs_queue_turn
  popq %rcx
  .cfi_adjust_cfa_offset -8
  testq %rax, %rax
  je 4f
  movq %rax, %rsi
  movabsq $COUNTS_DONE, %rax
  jmp 1b

4:// cs_queue_put_slowly(class, object, policy, frame)
  open_frame
  movq %rcx, %rdi
  movq %r13, %rsi
  movl $\policy, %edx
  movq %rbp, %rcx
  callq cs_queue_put_slowly
  close_frame
  retq

5:// cs_queue_put_into(class, slot, old, object, policy, frame)
  open_frame
  movq %rdi, %rdx
  movq %rcx, %rdi
  movq %r13, %rcx
  movl $\policy, %r8d
  movq %rbp, %r9
  callq cs_queue_put_into
  close_frame
  retq

6:// cs_queue_take_back(class, old)
  open_frame
  movq %rdi, %rsi
  movq %rcx, %rdi
  callq cs_queue_take_back
  close_frame
  retq
  .cfi_endproc
  .size \name, . - \name
  .endm

  .text
  keep cs_keep_zero_pair, POLICY_ZERO
  keep cs_keep_diagnose_pair, POLICY_DIAGNOSE

#endif

#if defined(__ELF__)
  .section .note.GNU-stack, "", %progbits
#endif
