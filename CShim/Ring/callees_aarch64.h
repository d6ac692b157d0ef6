// Decodes the call instruction and the prologue of Swift's async functions on AArch64.
#ifndef CS_CALLEES_AARCH64_H
#define CS_CALLEES_AARCH64_H
#if defined(__aarch64__)

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "code_aarch64.h"
#include "cs_callees.h"

#define CALL_BYTES CS_CODE_BYTES

// Returns the address that the call instruction before the return address calls. Returns 0 if the instruction calls
// through a register. Precondition: the CALL_BYTES bytes before the address are readable.
static inline uint64_t cs_call_target(uint64_t return_address) SIGNAL_SAFE {
  const uint64_t call = return_address - CALL_BYTES;
  uint32_t code;
  memcpy(&code, (const void *)(uintptr_t)call, sizeof code);
  return cs_code_call_target(code, call);
}

static inline bool cs_prologue_here_is_async(const uint8_t bytes[CS_ASYNC_PROLOGUE_BYTES]) SIGNAL_SAFE {
  uint32_t code[CS_ASYNC_PROLOGUE_BYTES / CS_CODE_BYTES];
  memcpy(code, bytes, sizeof code);
  return cs_code_async_prologue(code, sizeof code / sizeof code[0]) != 0;
}

// Reads only the bytes of the function, because it can be shorter than the longest prologue.
static inline bool cs_code_here_is_async(uint64_t start, uint64_t size) SIGNAL_SAFE {
  const uint64_t count = (size < CS_ASYNC_PROLOGUE_BYTES ? size : CS_ASYNC_PROLOGUE_BYTES) / CS_CODE_BYTES;
  return cs_code_async_prologue((const uint32_t *)(uintptr_t)start, count) != 0;
}

#endif
#endif
