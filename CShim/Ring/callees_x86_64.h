// Decodes the call instruction and the prologue of Swift's async functions on x86-64.
#ifndef CS_CALLEES_X86_64_H
#define CS_CALLEES_X86_64_H
#if defined(__x86_64__)

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "cs_callees.h"

#define CALL_BYTES 5 // the byte E8, and the 32-bit distance from the end of the instruction
#define CALL       0xE8

// Returns the address that the call instruction before the return address calls. Returns 0 if the instruction calls
// through a register. Precondition: the CALL_BYTES bytes before the address are readable.
static inline uint64_t cs_call_target(uint64_t return_address) SIGNAL_SAFE {
  const uint8_t *const call = (const uint8_t *)(uintptr_t)(return_address - CALL_BYTES);
  int32_t distance;
  memcpy(&distance, call + 1, sizeof distance);
  return call[0] == CALL ? return_address + (uint64_t)(int64_t)distance : 0;
}

// On Linux, compiled Swift code need not mark async functions by bit 60 of the saved frame pointer. Only this prologue
// shows that a function is async:
//   [48 83 ec ib | 48 81 ec id]  sub $n,%rsp   (rare)
//   55                           push %rbp
//   41 56                        push %r14
//   48 8d 6c 24 08               lea 8(%rsp),%rbp
static const uint8_t async_prologue[8] = {0x55, 0x41, 0x56, 0x48, 0x8d, 0x6c, 0x24, 0x08};

static inline bool cs_prologue_here_is_async(const uint8_t bytes[CS_ASYNC_PROLOGUE_BYTES]) SIGNAL_SAFE {
  const uint8_t *at = bytes;
  if (at[0] == 0x48 && at[1] == 0x83 && at[2] == 0xec) {
    at += 4;
  } else if (at[0] == 0x48 && at[1] == 0x81 && at[2] == 0xec) {
    at += 7;
  }
  return memcmp(at, async_prologue, sizeof async_prologue) == 0;
}

static inline bool cs_code_here_is_async(uint64_t start, uint64_t size) SIGNAL_SAFE {
  return size >= CS_ASYNC_PROLOGUE_BYTES && cs_prologue_here_is_async((const uint8_t *)(uintptr_t)start);
}

#endif
#endif
