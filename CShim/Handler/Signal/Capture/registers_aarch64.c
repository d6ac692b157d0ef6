#include "cs_platform.h"

#if CS_SUPPORTED

#if defined(__aarch64__)
#include "registers.h"

#include <asm/sigcontext.h>
#include <errno.h>
#include <signal.h>

#include "../../../Ring/code_aarch64.h"
#include "../Dispatch/trusted.h"
#include "../Kernel/memory.h"
#include "fault_aarch64.h"

#define LINK_BASE 31 // in an instruction, the base register 31 is sp

// A fault is attributed to the instruction at the pc if the fault address is at most this far from the instruction's
// base register. An immediate offset is at most 32 KiB.
#define ACCESS_REACH UINT64_C(65536)

// The processor ignores the highest byte of an address, and the kernel reports the address without this byte.
#define TAG_BITS 8

_Static_assert(CS_CONTEXT_ESR_MAGIC == ESR_MAGIC, "the kernel's number");

static uint64_t syndrome_of(const ucontext_t *context) SIGNAL_SAFE {
  const mcontext_t *from = &context->uc_mcontext;
  return cs_syndrome_in((const uint8_t *)from->__reserved, sizeof from->__reserved);
}

const uint8_t cs_memory_order[] = {20, 0,  1,  2,  3,  4, 5,  6,  7,  8,  19, 21, 22, 23, 24,
                                   25, 26, 27, 28, 29, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18};
const uint32_t cs_memory_order_count = sizeof cs_memory_order;

void cs_registers_from_context(const ucontext_t *context, cs_ring_registers *ret_registers) SIGNAL_SAFE {
  const mcontext_t *from = &context->uc_mcontext;
  for (int index = 0; index <= CS_REGISTER_LINK; index++)
    ret_registers->general[index] = from->regs[index];
  ret_registers->general[CS_REGISTER_STACK_POINTER] = from->sp;
  ret_registers->general[CS_REGISTER_PC] = from->pc;
  ret_registers->general_count = CS_REGISTER_COUNT;
  ret_registers->flags = from->pstate;
  ret_registers->error_code = syndrome_of(context);
  ret_registers->trap_number = cs_syndrome_class(ret_registers->error_code);
  ret_registers->fault_address = from->fault_address;
}

bool cs_context_is_readable(const ucontext_t *context) SIGNAL_SAFE {
  const uint64_t registers = (uint64_t)(uintptr_t)&context->uc_mcontext;
  return cs_memory_is_readable(registers) &&
         cs_memory_is_readable(registers + sizeof context->uc_mcontext - sizeof(uint64_t));
}

// The kernel updates a thread's syndrome and fault address only at these faults, and reports the last values with later
// signals too. Three codes are excluded. SI_KERNEL means that a signal frame could not be written. SEGV_MTEAERR is an
// error of an earlier access (MTE). BUS_MCEERR_AO is a memory error that no instruction caused.
bool cs_registers_belong_to(int signal, int code) SIGNAL_SAFE {
  if (signal == SIGSEGV) return code != SI_KERNEL && code != SEGV_MTEAERR;
  return signal == SIGILL || (signal == SIGBUS && code != SI_KERNEL && code != BUS_MCEERR_AO);
}

// In the kernel's context, records follow the registers. Only the first record is copied, which contains the vector
// registers (FPSIMD). The others are valid only in their own signal frame: for example, one contains the address of
// further records.
void cs_context_copy(const ucontext_t *from, ucontext_t *to) SIGNAL_SAFE {
  to->uc_flags = from->uc_flags;
  to->uc_stack = from->uc_stack;
  memcpy(&to->uc_sigmask, &from->uc_sigmask, sizeof(uint64_t));
  memcpy(&to->uc_mcontext, &from->uc_mcontext, offsetof(mcontext_t, __reserved) + sizeof(struct fpsimd_context));
}

// If the kernel reports no syndrome, a fault address that equals the pc shows a fetch. At an alignment fault of the pc
// (not a multiple of 4), the kernel reports no fault address, so this code checks only the pc.
bool cs_registers_show_bad_fetch(const cs_ring_registers *registers) SIGNAL_SAFE {
  const uint64_t pc = registers->general[CS_REGISTER_PC];
  const uint64_t class = registers->trap_number;
  if (class == CS_SYNDROME_PC_ALIGNMENT) return (pc & (CS_CODE_BYTES - 1)) != 0;
  return registers->fault_address == pc && (registers->error_code == 0 || class == CS_SYNDROME_FETCH);
}

static bool code_at(uint64_t pc, uint32_t *ret_code) SIGNAL_SAFE {
  return (pc & (CS_CODE_BYTES - 1)) == 0 && cs_memory_copy(ret_code, pc, sizeof *ret_code) == sizeof *ret_code;
}

// AArch64 has no flag that shows whether the instruction at the pc has faulted. This code therefore checks whether the
// syndrome and the address of the thread's last fault, which the kernel keeps, belong to this instruction.
bool cs_context_shows_fault(const ucontext_t *context) SIGNAL_SAFE {
  const mcontext_t *from = &context->uc_mcontext;
  const uint64_t syndrome = syndrome_of(context);
  uint32_t code = 0;
  uint32_t base = 0;
  if (!code_at(from->pc, &code)) return syndrome != 0 && from->fault_address == from->pc;
  if (cs_code_is_breakpoint(code)) return true;
  if (cs_syndrome_class(syndrome) != CS_SYNDROME_ACCESS || !cs_code_is_access(code, &base)) return false;
  const uint64_t from_base = base == LINK_BASE ? from->sp : from->regs[base];
  const uint64_t distance = (from->fault_address - from_base) & (UINT64_MAX >> TAG_BITS);
  return distance < ACCESS_REACH || (UINT64_MAX >> TAG_BITS) - distance < ACCESS_REACH;
}

bool cs_context_is_at_trap(const ucontext_t *context) SIGNAL_SAFE {
  uint32_t code = 0;
  return code_at(context->uc_mcontext.pc, &code) && cs_code_is_trap(code);
}

static bool is_system_call(uint64_t at) SIGNAL_SAFE {
  uint32_t code = 0;
  return code_at(at, &code) && code == CS_CODE_SYSTEM_CALL;
}

// A breakpoint needs no change, because the pc stays at the instruction. For SIGSYS, the kernel has already put the
// first argument of the system call back into its register.
void cs_context_repeat(int signal, ucontext_t *context) SIGNAL_SAFE {
  mcontext_t *registers = &context->uc_mcontext;
  if (signal == SIGSYS && is_system_call(registers->pc - CS_CODE_BYTES)) registers->pc -= CS_CODE_BYTES;
}

bool cs_registers_show_waiting(const cs_ring_registers *registers) SIGNAL_SAFE {
  const uint64_t pc = registers->general[CS_REGISTER_PC];
  return is_system_call(pc) || (registers->general[0] == (uint64_t)-EINTR && is_system_call(pc - CS_CODE_BYTES));
}

// A system call that failed with EINTR has lost its first argument, because x0 contains the result.
bool cs_context_shows_call(const ucontext_t *context, long number,
                           uint64_t ret_arguments[CS_CALL_ARGUMENT_COUNT]) SIGNAL_SAFE {
  const mcontext_t *from = &context->uc_mcontext;
  for (int index = 0; index < CS_CALL_ARGUMENT_COUNT; index++)
    ret_arguments[index] = from->regs[index];
  return from->regs[8] == (uint64_t)number && is_system_call(from->pc);
}

bool cs_context_shows_interrupted_call(const ucontext_t *context) SIGNAL_SAFE {
  const mcontext_t *from = &context->uc_mcontext;
  return from->regs[0] == (uint64_t)-EINTR && is_system_call(from->pc - CS_CODE_BYTES);
}

bool cs_registers_are_past_trap(const cs_ring_registers *registers) SIGNAL_SAFE {
  (void)registers;
  return false;
}
#endif

#endif
