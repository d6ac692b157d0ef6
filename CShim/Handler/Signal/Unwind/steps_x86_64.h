// The steps of an unwind on x86-64 (steps.h).
#ifndef CS_STEPS_X86_64_H
#define CS_STEPS_X86_64_H
#if defined(__x86_64__)

#include "../Capture/registers.h"
#include "../Kernel/memory.h"

static inline uint64_t cs_async_prologue_bytes(const uint8_t prologue[CS_ASYNC_PROLOGUE_BYTES]) SIGNAL_SAFE {
  (void)prologue;
  return 16; // the longest prologue
}

static inline bool cs_is_handler_return(uint64_t pc) SIGNAL_SAFE {
  (void)pc;
  return false;
}

static inline bool cs_leave_handler(const uint64_t registers[CS_REGISTER_COUNT], bool is_bound) SIGNAL_SAFE {
  (void)registers;
  (void)is_bound;
  return false;
}

static inline bool cs_read_return_address(cs_memory *memory, const uint64_t registers[CS_REGISTER_COUNT],
                                          uint64_t *ret_address) SIGNAL_SAFE {
  return cs_memory_read_word(memory, registers[CS_REGISTER_STACK_POINTER], ret_address);
}

#endif
#endif
