#include "cs_platform.h"

#if CS_SUPPORTED

#if defined(__x86_64__)
#include "signal_frame.h"

#include "../Capture/registers.h"
#include "../Dispatch/trusted.h"
#include "../Kernel/memory.h"
#include "../Kernel/system_call.h"

#include <stddef.h>

// The size of the kernel's ucontext_t. The kernel's structure is smaller than glibc's, because its signal mask is
// shorter, and because the floating-point registers are stored outside of it.
#define CONTEXT_BYTES 304

struct cs_signal_frame {
  void (*restorer)(void); // the return address of the handler
  uint8_t context[CONTEXT_BYTES];
  siginfo_t information;
};

_Static_assert(offsetof(ucontext_t, uc_sigmask) + sizeof(uint64_t) == CONTEXT_BYTES, "the kernel's context");

// The kernel saves the vector registers in an area that starts with the 512 bytes of FXSAVE. The last fields of these
// 512 bytes contain the size of the whole area (asm/sigcontext.h).
#define VECTOR_BYTES     512
#define VECTOR_ALIGNMENT UINT64_C(64)
#define EXTENSION_AT     464
#define EXTENSION_MAGIC  0x46505853u
#define EXTENSION_LIMIT  65536u

#define STACK_ALIGNMENT UINT64_C(16)

// The vector numbers of faults, and the bits of the error code of a page fault.
#define DIVIDE_VECTOR      0
#define INSTRUCTION_VECTOR 6
#define PROTECTION_VECTOR  13
#define FAULT_VECTOR       14
#define FAULT_WRITE        2
#define FAULT_FETCH        16

static bool has_shadow_stack(void) SIGNAL_SAFE {
  uint64_t pointer = 0; // without a shadow stack, the instruction rdsspq leaves the value 0
  __asm__ volatile("rdsspq %0" : "+r"(pointer));
  return pointer != 0;
}

cs_signal_frame *cs_signal_frame_of(const siginfo_t *information, const ucontext_t *context,
                                    const void *called_at) SIGNAL_SAFE {
  cs_signal_frame *frame = (cs_signal_frame *)((uintptr_t)context - offsetof(cs_signal_frame, context));
  const bool is_kernels = frame == called_at && (const siginfo_t *)&frame->information == information;
  return is_kernels && !has_shadow_stack() ? frame : NULL;
}

ucontext_t *cs_signal_frame_context(cs_signal_frame *frame) SIGNAL_SAFE {
  return (ucontext_t *)(uintptr_t)frame->context;
}

siginfo_t *cs_signal_frame_information(cs_signal_frame *frame) SIGNAL_SAFE {
  return &frame->information;
}

uint64_t cs_signal_frame_interrupted(const ucontext_t *context) SIGNAL_SAFE {
  return (uint64_t)context->uc_mcontext.gregs[REG_RSP];
}

static uint64_t vector_bytes(const uint8_t *vectors) SIGNAL_SAFE {
  uint32_t extension[2];
  memcpy(extension, vectors + EXTENSION_AT, sizeof extension);
  const bool is_extended = extension[0] == EXTENSION_MAGIC && extension[1] <= EXTENSION_LIMIT;
  return is_extended && extension[1] > VECTOR_BYTES ? extension[1] : VECTOR_BYTES;
}

cs_signal_frame *cs_signal_frame_move(cs_signal_frame *frame) SIGNAL_SAFE {
  const ucontext_t *context = cs_signal_frame_context(frame);
  const uint8_t *vectors = (const uint8_t *)context->uc_mcontext.fpregs;
  const uint64_t size = vectors != NULL ? vector_bytes(vectors) : 0;
  const uint64_t end = cs_signal_frame_interrupted(context) - CS_RED_ZONE_BYTES;
  const uint64_t vectors_at = (end - size) & ~(VECTOR_ALIGNMENT - 1);
  // The ABI requires that at the entry of a function, the stack pointer is 8 more than a multiple of 16.
  const uint64_t frame_at = ((vectors_at - sizeof *frame) & ~(STACK_ALIGNMENT - 1)) - sizeof(uint64_t);
  if (end < size + CS_PAGE_BYTES || !cs_signal_frame_room_is_writable(frame_at, end)) return NULL;
  if (size > 0) memcpy((void *)(uintptr_t)vectors_at, vectors, size);
  cs_signal_frame *moved = (cs_signal_frame *)(uintptr_t)frame_at;
  memcpy(moved, frame, sizeof *frame);
  if (size > 0) cs_signal_frame_context(moved)->uc_mcontext.fpregs = (fpregset_t)(uintptr_t)vectors_at;
  return moved;
}

// The program's handler returns to this code, and the stack pointer then points to the context. Unwinders find the
// saved registers in this context. The unwind rules below are the same as in glibc's __restore_rt:
// DW_CFA_def_cfa_expression and DW_CFA_expression with DW_OP_breg7.
#define LOW(offset)            #offset " & 127 | 128"
#define HIGH(offset)           #offset " >> 7"
#define RULE(register, offset) ".cfi_escape 0x10, " #register ", 3, 0x77, " LOW(offset) ", " HIGH(offset) "\n"

extern void cs_signal_frame_restorer(void) __attribute__((visibility("hidden")));

__asm__(".pushsection .text\n"
        ".cfi_startproc\n"
        ".cfi_signal_frame\n"
        ".cfi_escape 0x0f, 4, 0x77, " LOW(160) ", " HIGH(160) ", 0x06\n" // rsp
        RULE(0, 144) RULE(1, 136) RULE(2, 152) RULE(3, 128) RULE(4, 112) RULE(5, 104) RULE(6, 120) RULE(8, 40)
            RULE(9, 48) RULE(10, 56) RULE(11, 64) RULE(12, 72) RULE(13, 80) RULE(14, 88) RULE(15, 96)
                RULE(16, 168) "nop\n" // some unwinders look up the byte before a return address
                              ".hidden cs_signal_frame_restorer\n"
                              ".globl cs_signal_frame_restorer\n"
                              ".type cs_signal_frame_restorer, @function\n"
                              "cs_signal_frame_restorer:\n"
                              "leaq -8(%rsp), %rdi\n"
                              "call cs_signal_frame_returned\n"
                              "movq $15, %rax\n" // rt_sigreturn
                              "syscall\n"
                              ".size cs_signal_frame_restorer, . - cs_signal_frame_restorer\n"
                              ".cfi_endproc\n"
                              ".popsection\n");

cs_signal_call cs_signal_frame_call(cs_signal_frame *frame, void (*handler)(int)) SIGNAL_SAFE {
  frame->restorer = cs_signal_frame_restorer;
  return (cs_signal_call){frame, handler};
}

bool cs_signal_frame_is_intact(uint64_t frame) SIGNAL_SAFE {
  uint64_t word = 0;
  const struct iovec local = {&word, sizeof word};
  const struct iovec remote = {(void *)(uintptr_t)frame, sizeof word};
  const long count = cs_process_vm_readv(cs_getpid(), &local, &remote);
  // If a seccomp filter refuses the call, the frame cannot be checked, and this code assumes that it is intact.
  if (count < 0 && count != -EFAULT) return true;
  return count == (long)sizeof word && word == (uint64_t)(uintptr_t)cs_signal_frame_restorer;
}

_Static_assert(offsetof(cs_signal_frame, context) == 8 && offsetof(cs_signal_frame, information) == 312,
               "the offsets in cs_handler");
_Static_assert(offsetof(siginfo_t, si_signo) == 0, "the offset in cs_handler");

// The code that the kernel calls as the signal handler. When this code jumps to the program's handler, no frame of the
// shield is on the stack.
__asm__(".pushsection .text\n"
        ".hidden cs_handler\n"
        ".globl cs_handler\n"
        ".type cs_handler, @function\n"
        "cs_handler:\n"
        ".cfi_startproc\n"
        "movq %rsp, %rcx\n"
        "subq $8, %rsp\n"
        ".cfi_adjust_cfa_offset 8\n"
        "call cs_handle\n"
        "addq $8, %rsp\n"
        ".cfi_adjust_cfa_offset -8\n"
        "testq %rax, %rax\n"
        "jnz 1f\n"
        "ret\n"
        "1: movq %rax, %rsp\n"
        "movq %rax, %rdi\n"
        "pushq %rdx\n"
        ".cfi_adjust_cfa_offset 8\n"
        "call cs_signal_frame_entered\n"
        "popq %rcx\n"
        ".cfi_adjust_cfa_offset -8\n"
        "movl 312(%rsp), %edi\n"
        "leaq 312(%rsp), %rsi\n"
        "leaq 8(%rsp), %rdx\n"
        "xorl %eax, %eax\n"
        "jmp *%rcx\n"
        ".cfi_endproc\n"
        ".size cs_handler, . - cs_handler\n"
        ".popsection\n");

bool cs_signal_frame_is_equal(const ucontext_t *left, const ucontext_t *right) SIGNAL_SAFE {
  const greg_t *const one = left->uc_mcontext.gregs;
  const greg_t *const other = right->uc_mcontext.gregs;
  for (int index = 0; index < CS_REGISTER_COUNT; index++) {
    if (one[index] != other[index]) return false;
  }
  return one[REG_EFL] == other[REG_EFL];
}

bool cs_signal_frame_is_repaired(const siginfo_t *information, const ucontext_t *context) SIGNAL_SAFE {
  const greg_t *registers = context->uc_mcontext.gregs;
  const greg_t vector = registers[REG_TRAPNO];
  if (vector == DIVIDE_VECTOR || vector == INSTRUCTION_VECTOR || vector == PROTECTION_VECTOR) return false;
  // The other exceptions do not show whether they would repeat. A trap is reported after its instruction and does not
  // repeat. An exception of a vector instruction can repeat, but this code does not decode its operands.
  if (vector != FAULT_VECTOR) return true;
  if ((registers[REG_ERR] & FAULT_FETCH) != 0) return true;
  const uint64_t address = (uint64_t)(uintptr_t)information->si_addr;
  return cs_signal_frame_access_works(address, (registers[REG_ERR] & FAULT_WRITE) != 0);
}
#endif

#endif
