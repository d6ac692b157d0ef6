// The steps of an unwind on AArch64 (steps.h).
#ifndef CS_STEPS_AARCH64_H
#define CS_STEPS_AARCH64_H
#if defined(__aarch64__)

#include "../../../Ring/code_aarch64.h"
#include "../Capture/registers.h"
#include "../Dispatch/trusted.h"
#include "../FirstChance/signal_layout_aarch64.h"
#include "../Kernel/memory.h"
#include "cs_return_address.h"

static inline uint64_t cs_async_prologue_bytes(const uint8_t prologue[CS_ASYNC_PROLOGUE_BYTES]) SIGNAL_SAFE {
  uint32_t code[CS_ASYNC_PROLOGUE_BYTES / CS_CODE_BYTES];
  memcpy(code, prologue, sizeof code);
  return cs_code_async_prologue(code, sizeof code / sizeof code[0]) * CS_CODE_BYTES;
}

// A signal handler returns to `mov x8, #139; svc #0`.
static inline bool cs_is_handler_return(uint64_t pc) SIGNAL_SAFE {
  uint32_t code[2] = {0};
  if ((pc & (CS_CODE_BYTES - 1)) != 0 || cs_memory_copy(code, pc, sizeof code) != sizeof code) return false;
  const bool is_kernels = code[0] == CS_CODE_SIGNAL_RETURN && code[1] == CS_CODE_SYSTEM_CALL;
  return is_kernels || cs_signal_frame_is_restorer(pc);
}

// The unwind tables for the code to which a handler returns, if there are any, skip the interrupted function and lead
// to its caller. This function therefore reads the signal frame, which contains x0 to x30, sp and pc in this order. The
// signal frame is at the stack pointer. If the stack pointer is only a lower bound, the signal frame is directly below
// the kernel's frame record, to which x29 points. As a check, the frame record must contain the same x29 and x30 as the
// signal frame.
static inline bool cs_leave_handler(uint64_t registers[CS_REGISTER_COUNT], bool is_bound) SIGNAL_SAFE {
  uint64_t interrupted[CS_REGISTER_COUNT];
  if (!cs_is_handler_return(registers[CS_REGISTER_PC])) return false;
  const uint64_t record_at = registers[CS_REGISTER_FRAME_POINTER];
  const uint64_t frame = is_bound ? record_at - sizeof(cs_signal_frame) : registers[CS_REGISTER_STACK_POINTER];
  const uint64_t from = frame + CS_SIGNAL_FRAME_REGISTERS;
  if (cs_memory_copy(interrupted, from, sizeof interrupted) != sizeof interrupted) return false;
  if (is_bound) {
    uint64_t record[2] = {0};
    if (cs_memory_copy(record, record_at, sizeof record) != sizeof record) return false;
    if (memcmp(record, &interrupted[CS_REGISTER_FRAME_POINTER], sizeof record) != 0) return false;
  }
  memcpy(registers, interrupted, sizeof interrupted);
  return true;
}

static inline bool cs_read_return_address(cs_memory *memory, const uint64_t registers[CS_REGISTER_COUNT],
                                          uint64_t *ret_address) SIGNAL_SAFE {
  (void)memory;
  *ret_address = cs_return_address(registers[CS_REGISTER_LINK]);
  return true;
}

#endif
#endif
