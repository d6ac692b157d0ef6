#include "cs_platform.h"

#if CS_SUPPORTED

#if defined(__aarch64__)
#include "signal_frame.h"

#include <asm/sigcontext.h>
#include <stddef.h>

#include "../../../Ring/code_aarch64.h"
#include "../Capture/fault_aarch64.h"
#include "../Capture/registers.h"
#include "../Dispatch/trusted.h"
#include "../Kernel/memory.h"
#include "../Kernel/system_call.h"
#include "signal_layout_aarch64.h"

_Static_assert(sizeof(siginfo_t) == 128 && CS_SIGNAL_FRAME_REGISTERS == 312, "the offsets in cs_handler");
_Static_assert(offsetof(siginfo_t, si_signo) == 0, "the offset in cs_handler");

// After the frame, at higher addresses, the kernel stores a frame record {x29, x30}. In the handler, x29 points to this
// record.
#define RECORD_BYTES    UINT64_C(16)
#define STACK_ALIGNMENT UINT64_C(16)

// The maximum size of the kernel's records that do not fit into the context and therefore follow the frame: the
// registers of SVE and SME.
#define EXTRA_LIMIT UINT64_C(262144)

// The shield marks each frame with which it calls a program's handler, in the last word of siginfo_t, which no signal
// uses. The kernel clears this word when it makes another frame at the same address.
#define MARK_OFFSET (sizeof(siginfo_t) - sizeof(uint64_t))

// GCS, the shadow stack of AArch64. The instruction chkfeat clears the bit 0 of x16 if GCS is on. Older processors
// execute it as a nop.
static bool has_shadow_stack(void) SIGNAL_SAFE {
  register uint64_t x16 __asm__("x16") = 1;
  __asm__ volatile("hint #40" : "+r"(x16));
  return x16 == 0;
}

cs_signal_frame *cs_signal_frame_of(const siginfo_t *information, const ucontext_t *context,
                                    const void *called_at) SIGNAL_SAFE {
  cs_signal_frame *frame = (cs_signal_frame *)((uintptr_t)context - offsetof(cs_signal_frame, context));
  const bool is_kernels = frame == called_at && (const siginfo_t *)&frame->information == information;
  return is_kernels && !has_shadow_stack() ? frame : NULL;
}

ucontext_t *cs_signal_frame_context(cs_signal_frame *frame) SIGNAL_SAFE {
  return &frame->context;
}

siginfo_t *cs_signal_frame_information(cs_signal_frame *frame) SIGNAL_SAFE {
  return &frame->information;
}

uint64_t cs_signal_frame_interrupted(const ucontext_t *context) SIGNAL_SAFE {
  return context->uc_mcontext.sp;
}

// Finds the record in the context that describes the further records after the frame. Returns false if there is none.
static bool find_extra(const cs_signal_frame *frame, struct extra_context *ret_extra, size_t *ret_at) SIGNAL_SAFE {
  const uint8_t *records = (const uint8_t *)frame->context.uc_mcontext.__reserved;
  const size_t size = sizeof frame->context.uc_mcontext.__reserved;
  size_t at = 0;
  while (size - at >= sizeof *ret_extra) {
    memcpy(ret_extra, records + at, sizeof *ret_extra);
    *ret_at = at;
    if (ret_extra->head.magic == EXTRA_MAGIC) return true;
    const uint32_t bytes = ret_extra->head.size;
    if (ret_extra->head.magic == 0 || bytes < sizeof ret_extra->head || bytes > size - at) return false;
    at += bytes;
  }
  return false;
}

cs_signal_frame *cs_signal_frame_move(cs_signal_frame *frame) SIGNAL_SAFE {
  const uint64_t from = (uint64_t)(uintptr_t)frame;
  struct extra_context extra;
  size_t extra_at = 0;
  uint64_t size = sizeof *frame;
  const bool has_extra = find_extra(frame, &extra, &extra_at);
  if (has_extra) {
    const uint64_t end = extra.datap + extra.size;
    if (end < from + size || end - from > size + EXTRA_LIMIT) return NULL;
    size = end - from;
  }
  size = ((size + STACK_ALIGNMENT - 1) & ~(STACK_ALIGNMENT - 1)) + RECORD_BYTES;
  const uint64_t end = cs_signal_frame_interrupted(&frame->context) & ~(STACK_ALIGNMENT - 1);
  if (end < size + CS_PAGE_BYTES || !cs_signal_frame_room_is_writable(end - size, end)) return NULL;
  cs_signal_frame *moved = (cs_signal_frame *)(uintptr_t)(end - size);
  memcpy(moved, frame, size);
  if (has_extra) {
    // The further records were moved with the frame. The kernel refuses the frame if it does not contain their new
    // address.
    extra.datap += (uint64_t)(uintptr_t)moved - from;
    memcpy((uint8_t *)moved->context.uc_mcontext.__reserved + extra_at, &extra, sizeof extra);
  }
  return moved;
}

extern void cs_signal_frame_restorer(void) __attribute__((visibility("hidden")));

bool cs_signal_frame_is_restorer(uint64_t pc) SIGNAL_SAFE {
  return pc == (uint64_t)(uintptr_t)cs_signal_frame_restorer;
}

// The program's handler returns to this code, and the stack pointer then points to the frame. The unwind rules below
// are for unwinders other than the shield's. They restore sp and x19 to x29. For x30, which is the column of the return
// address, they give the interrupted pc. The interrupted value of x30 is therefore lost, and if the interrupted
// function has no frame, its caller is missing.
#define LOW(offset)            #offset " & 127 | 128"
#define HIGH(offset)           #offset " >> 7"
#define RULE(register, offset) ".cfi_escape 0x10, " #register ", 3, 0x8f, " LOW(offset) ", " HIGH(offset) "\n"

__asm__(".pushsection .text\n"
        ".p2align 2\n"
        ".cfi_startproc\n"
        ".cfi_signal_frame\n"
        ".cfi_escape 0x0f, 4, 0x8f, " LOW(560) ", " HIGH(560) ", 0x06\n" // sp
        RULE(19, 464) RULE(20, 472) RULE(21, 480) RULE(22, 488) RULE(23, 496) RULE(24, 504) RULE(25, 512) RULE(26, 520)
            RULE(27, 528) RULE(28, 536) RULE(29, 544)
                RULE(30, 568) "nop\n" // some unwinders look up the byte before a return address
                              ".hidden cs_signal_frame_restorer\n"
                              ".globl cs_signal_frame_restorer\n"
                              ".type cs_signal_frame_restorer, %function\n"
                              "cs_signal_frame_restorer:\n"
                              "mov x0, sp\n"
                              "bl cs_signal_frame_returned\n"
                              "mov x8, #139\n" // rt_sigreturn
                              "svc #0\n"
                              ".size cs_signal_frame_restorer, . - cs_signal_frame_restorer\n"
                              ".cfi_endproc\n"
                              ".popsection\n");

cs_signal_call cs_signal_frame_call(cs_signal_frame *frame, void (*handler)(int)) SIGNAL_SAFE {
  const uint64_t mark = (uint64_t)(uintptr_t)cs_signal_frame_restorer;
  memcpy((uint8_t *)frame + MARK_OFFSET, &mark, sizeof mark);
  return (cs_signal_call){frame, handler};
}

bool cs_signal_frame_is_intact(uint64_t frame) SIGNAL_SAFE {
  uint64_t word = 0;
  const struct iovec local = {&word, sizeof word};
  const struct iovec remote = {(void *)(uintptr_t)(frame + MARK_OFFSET), sizeof word};
  const long count = cs_process_vm_readv(cs_getpid(), &local, &remote);
  // If a seccomp filter refuses the call, the frame cannot be checked, and this code assumes that it is intact.
  if (count < 0 && count != -EFAULT) return true;
  return count == (long)sizeof word && word == (uint64_t)(uintptr_t)cs_signal_frame_restorer;
}

// The code that the kernel calls as the signal handler. When this code jumps to the program's handler, no frame of the
// shield is on the stack. When the program's handler starts, x29 points to the frame record after the frame, even if
// the frame was moved.
__asm__(".pushsection .text\n"
        ".p2align 2\n"
        ".hidden cs_handler\n"
        ".globl cs_handler\n"
        ".type cs_handler, %function\n"
        "cs_handler:\n"
        ".cfi_startproc\n"
        "hint #34\n" // bti c
        "mov x3, sp\n"
        "stp x29, x30, [sp, #-16]!\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset x29, -16\n"
        ".cfi_offset x30, -8\n"
        "mov x29, sp\n"
        "bl cs_handle\n"
        "ldp x29, x30, [sp], #16\n"
        ".cfi_def_cfa_offset 0\n"
        ".cfi_restore x29\n"
        ".cfi_restore x30\n"
        "cbnz x0, 1f\n"
        "ret\n"
        "1: mov x9, sp\n"
        "sub x9, x0, x9\n"
        "add x29, x29, x9\n"
        "mov sp, x0\n"
        "mov x19, x0\n"
        "mov x20, x1\n"
        "adrp x21, cs_signal_frame_restorer\n"
        "add x21, x21, :lo12:cs_signal_frame_restorer\n"
        ".cfi_register x30, x21\n"
        "bl cs_signal_frame_entered\n"
        "mov x30, x21\n"
        "ldr w0, [x19]\n"
        "mov x1, x19\n"
        "add x2, x19, #128\n"
        "mov x16, x20\n"
        "br x16\n"
        ".cfi_endproc\n"
        ".size cs_handler, . - cs_handler\n"
        ".popsection\n");

bool cs_signal_frame_is_equal(const ucontext_t *left, const ucontext_t *right) SIGNAL_SAFE {
  const mcontext_t *const one = &left->uc_mcontext;
  const mcontext_t *const other = &right->uc_mcontext;
  return memcmp(one->regs, other->regs, sizeof one->regs) == 0 && one->sp == other->sp && one->pc == other->pc &&
         one->pstate == other->pstate;
}

// For signals other than SIGSEGV and SIGBUS: returns whether the fault occurs again at the same instruction.
static bool is_repeated(const siginfo_t *information) SIGNAL_SAFE {
  const int signal = information->si_signo;
  return signal == SIGILL || signal == SIGFPE || (signal == CS_TRAP_SIGNAL && information->si_code == CS_TRAP_CODE);
}

bool cs_signal_frame_is_repaired(const siginfo_t *information, const ucontext_t *context) SIGNAL_SAFE {
  const mcontext_t *from = &context->uc_mcontext;
  const uint64_t address = (uint64_t)(uintptr_t)information->si_addr;
  const uint64_t syndrome = cs_syndrome_in((const uint8_t *)from->__reserved, sizeof from->__reserved);
  const uint64_t class = cs_syndrome_class(syndrome);
  uint32_t code = 0;
  uint32_t base = 0;
  if (information->si_signo != SIGSEGV && information->si_signo != SIGBUS) return !is_repeated(information);
  if ((from->pc & (CS_CODE_BYTES - 1)) != 0) return false;
  if (class == CS_SYNDROME_FETCH || address == from->pc) return true;
  if (class == CS_SYNDROME_ACCESS) return cs_signal_frame_access_works(address, (syndrome & CS_SYNDROME_WRITE) != 0);
  // Without a syndrome (qemu before version 8), the access is decoded from the instruction. An instruction that is not
  // an access faults again.
  if (cs_memory_copy(&code, from->pc, sizeof code) != sizeof code || cs_code_is_opaque(code)) return true;
  return cs_code_is_access(code, &base) && cs_signal_frame_access_works(address, cs_code_is_store(code));
}
#endif

#endif
