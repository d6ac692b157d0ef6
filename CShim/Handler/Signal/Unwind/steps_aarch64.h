// The steps of an unwind on AArch64 (steps.h).
#ifndef CS_STEPS_AARCH64_H
#define CS_STEPS_AARCH64_H
#if defined(__aarch64__)

#include "../../../Ring/code_aarch64.h"
#include "../Capture/registers.h"
#include "../FirstChance/signal_layout_aarch64.h"
#include "../Kernel/memory.h"

// The instruction xpaclri. Processors without pointer authentication execute it as a nop, and then no return address
// has a signature.
static inline uint64_t cs_address_unsigned(uint64_t address) SIGNAL_SAFE {
  register uint64_t x30 __asm__("x30") = address;
  __asm__("hint #7" : "+r"(x30));
  return x30;
}

// A signal handler returns to `mov x8, #139; svc #0`. The kernel's tables for this code, if there are any, describe the
// caller of the interrupted function instead of the function itself. The signal frame is at the stack pointer. It
// contains x0 to x30, sp and pc in the order of their numbers.
static inline bool cs_leave_handler(uint64_t registers[CS_REGISTER_COUNT]) SIGNAL_SAFE {
  const uint64_t pc = registers[CS_REGISTER_PC];
  uint32_t code[2] = {0};
  uint64_t interrupted[CS_REGISTER_COUNT];
  if ((pc & (CS_CODE_BYTES - 1)) != 0 || cs_memory_copy(code, pc, sizeof code) != sizeof code) return false;
  const bool is_kernels = code[0] == CS_CODE_SIGNAL_RETURN && code[1] == CS_CODE_SYSTEM_CALL;
  if (!is_kernels && !cs_signal_frame_is_restorer(pc)) return false;
  const uint64_t from = registers[CS_REGISTER_STACK_POINTER] + CS_SIGNAL_FRAME_REGISTERS;
  if (cs_memory_copy(interrupted, from, sizeof interrupted) != sizeof interrupted) return false;
  for (int index = 0; index < CS_REGISTER_COUNT; index++)
    registers[index] = interrupted[index];
  return true;
}

static inline bool cs_read_return_address(cs_memory *memory, const uint64_t registers[CS_REGISTER_COUNT],
                                          uint64_t *ret_address) SIGNAL_SAFE {
  (void)memory;
  *ret_address = cs_address_unsigned(registers[CS_REGISTER_LINK]);
  return true;
}

#endif
#endif
