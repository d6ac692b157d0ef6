#include "cs_platform.h"

#if CS_SUPPORTED

#if defined(__x86_64__)
#include "registers.h"

#include <errno.h>
#include <signal.h>

#include "../Dispatch/trusted.h"
#include "../Kernel/memory.h"

// The index of each register in the kernel's context, in the order of DWARF numbers.
static const uint8_t order[CS_REGISTER_COUNT] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                                 REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                                 REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

const uint8_t cs_memory_order[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
const uint32_t cs_memory_order_count = sizeof cs_memory_order;

void cs_registers_from_context(const ucontext_t *context, cs_ring_registers *ret_registers) SIGNAL_SAFE {
  const greg_t *from = context->uc_mcontext.gregs;
  for (int index = 0; index < CS_REGISTER_COUNT; index++) {
    ret_registers->general[index] = (uint64_t)from[order[index]];
  }
  ret_registers->general_count = CS_REGISTER_COUNT;
  ret_registers->flags = (uint64_t)from[REG_EFL];
  ret_registers->error_code = (uint64_t)from[REG_ERR];
  ret_registers->trap_number = (uint64_t)from[REG_TRAPNO];
  ret_registers->fault_address = (uint64_t)from[REG_CR2];
}

bool cs_context_is_readable(const ucontext_t *context) SIGNAL_SAFE {
  const uint64_t registers = (uint64_t)(uintptr_t)&context->uc_mcontext;
  return cs_memory_is_readable(registers) &&
         cs_memory_is_readable(registers + sizeof context->uc_mcontext.gregs - sizeof(uint64_t));
}

bool cs_registers_belong_to(int signal, int code) SIGNAL_SAFE {
  (void)signal;
  (void)code;
  return true;
}

// The kernel's context ends with a signal mask of the kernel's size, which is smaller than glibc's. The fields that
// glibc declares after the mask do not exist in the kernel's context.
void cs_context_copy(const ucontext_t *from, ucontext_t *to) SIGNAL_SAFE {
  to->uc_flags = from->uc_flags;
  to->uc_stack = from->uc_stack;
  memcpy(to->uc_mcontext.gregs, from->uc_mcontext.gregs, sizeof to->uc_mcontext.gregs);
  to->uc_mcontext.fpregs = from->uc_mcontext.fpregs;
  memcpy(&to->uc_sigmask, &from->uc_sigmask, sizeof(uint64_t));
}

bool cs_registers_show_bad_fetch(const cs_ring_registers *registers) SIGNAL_SAFE {
  const uint64_t page_fault = 14;
  const uint64_t fetch = 16; // bit 4 of a page fault's error code
  return registers->trap_number == page_fault && (registers->error_code & fetch) != 0 &&
         registers->fault_address == registers->general[CS_REGISTER_PC];
}

bool cs_context_shows_fault(const ucontext_t *context) SIGNAL_SAFE {
  const greg_t *from = context->uc_mcontext.gregs;
  const greg_t breakpoint = 3;
  // RF, the resume flag of x86-64. A fault sets RF in the saved flags, and rt_sigreturn() restores it. The next
  // instruction that completes clears RF. If RF is set, the thread has therefore executed no instruction since a fault.
  const greg_t resume = 1 << 16;
  uint8_t code = 0;
  // A breakpoint is a trap and not a fault: the pc is past the instruction, and RF is not set.
  if (from[REG_TRAPNO] != breakpoint) return (from[REG_EFL] & resume) != 0;
  return cs_memory_copy(&code, (uint64_t)from[REG_RIP] - 1, sizeof code) == sizeof code && code == 0xcc;
}

bool cs_context_is_at_trap(const ucontext_t *context) SIGNAL_SAFE {
  uint8_t code[2] = {0};
  const uint64_t pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
  return cs_memory_copy(code, pc, sizeof code) == sizeof code && code[0] == 0x0f && code[1] == 0x0b;
}

static bool is_system_call(uint64_t at) SIGNAL_SAFE {
  uint8_t code[2] = {0};
  return cs_memory_copy(code, at, sizeof code) == sizeof code && code[0] == 0x0f && code[1] == 0x05;
}

void cs_context_repeat(int signal, ucontext_t *context) SIGNAL_SAFE {
  greg_t *pc = &context->uc_mcontext.gregs[REG_RIP];
  uint8_t code = 0;
  const bool is_after_breakpoint = cs_memory_copy(&code, (uint64_t)*pc - 1, sizeof code) == sizeof code && code == 0xcc;
  if (signal == SIGTRAP && is_after_breakpoint) *pc -= 1;
  // For SIGSYS, the kernel has already put the number of the system call back into its register.
  if (signal == SIGSYS && is_system_call((uint64_t)*pc - 2)) *pc -= 2;
}

bool cs_registers_show_waiting(const cs_ring_registers *registers) SIGNAL_SAFE {
  const uint64_t pc = registers->general[CS_REGISTER_PC];
  const uint64_t result = registers->general[0];
  return is_system_call(pc) || (result == (uint64_t)-EINTR && is_system_call(pc - 2));
}

bool cs_context_shows_call(const ucontext_t *context, long number,
                           uint64_t ret_arguments[CS_CALL_ARGUMENT_COUNT]) SIGNAL_SAFE {
  const greg_t *from = context->uc_mcontext.gregs;
  const int places[CS_CALL_ARGUMENT_COUNT] = {REG_RDI, REG_RSI, REG_RDX, REG_R10};
  for (int index = 0; index < CS_CALL_ARGUMENT_COUNT; index++)
    ret_arguments[index] = (uint64_t)from[places[index]];
  if (from[REG_RAX] == -EINTR) return is_system_call((uint64_t)from[REG_RIP] - 2);
  return from[REG_RAX] == number && is_system_call((uint64_t)from[REG_RIP]);
}

bool cs_context_shows_interrupted_call(const ucontext_t *context) SIGNAL_SAFE {
  const greg_t *from = context->uc_mcontext.gregs;
  return from[REG_RAX] == -EINTR && is_system_call((uint64_t)from[REG_RIP] - 2);
}

bool cs_registers_are_past_trap(const cs_ring_registers *registers) SIGNAL_SAFE {
  const uint64_t breakpoint = 3;
  return registers->trap_number == breakpoint;
}
#endif

#endif
