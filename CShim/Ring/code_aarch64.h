// Decodes instructions of AArch64. Each instruction is a little-endian word of four bytes. This file compiles on every
// architecture, so its tests can run on every machine.
#ifndef CS_CODE_AARCH64_H
#define CS_CODE_AARCH64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cs_signal_safe.h"

#define CS_CODE_BYTES UINT64_C(4)

// `svc #0`, the system call. The number of the call is in x8.
#define CS_CODE_SYSTEM_CALL UINT32_C(0xd4000001)
// `mov x8, #139`: the number of rt_sigreturn. A signal handler returns to this instruction, which `svc #0` follows.
#define CS_CODE_SIGNAL_RETURN UINT32_C(0xd2801168)
#define CS_CODE_NOP           UINT32_C(0xd503201f)
#define CS_CODE_RETURN        UINT32_C(0xd65f03c0)

// `brk #n`, a breakpoint. Compilers generate `brk #1` as the trap of Swift and of __builtin_trap().
static inline bool cs_code_is_breakpoint(uint32_t code) SIGNAL_SAFE {
  return (code & UINT32_C(0xffe0001f)) == UINT32_C(0xd4200000);
}

static inline bool cs_code_is_trap(uint32_t code) SIGNAL_SAFE {
  return code == UINT32_C(0xd4200020);
}

static inline uint64_t cs_code_signed(uint64_t value, unsigned bits) SIGNAL_SAFE {
  const unsigned unused = 64 - bits;
  return (uint64_t)((int64_t)(value << unused) >> unused);
}

// Returns the address that a `bl` at `address` calls, or 0 if the instruction is not a `bl`.
static inline uint64_t cs_code_call_target(uint32_t code, uint64_t address) SIGNAL_SAFE {
  const bool is_call = (code & UINT32_C(0xfc000000)) == UINT32_C(0x94000000);
  return is_call ? address + cs_code_signed((uint64_t)(code & UINT32_C(0x03ffffff)) * CS_CODE_BYTES, 28) : 0;
}

// Returns whether the instruction loads or stores. `ret_base` receives the number of the register that contains the
// base address; 31 is sp. Returns false for a load whose address is relative to the pc, because such a load has no base
// register.
static inline bool cs_code_is_access(uint32_t code, uint32_t *ret_base) SIGNAL_SAFE {
  const bool is_access = (code & UINT32_C(0x0a000000)) == UINT32_C(0x08000000);
  const bool is_literal = (code & UINT32_C(0x3b000000)) == UINT32_C(0x18000000);
  *ret_base = code >> 5 & 31;
  return is_access && !is_literal;
}

// Returns whether an instruction that accesses memory writes to it. Atomic instructions count as writes. Precondition:
// cs_code_is_access().
static inline bool cs_code_is_store(uint32_t code) SIGNAL_SAFE {
  const uint32_t group = code >> 28 & 3;
  const bool is_vector = (code & UINT32_C(0x04000000)) != 0;
  const bool is_second = (code & UINT32_C(0x01000000)) != 0;
  const uint32_t operation = code >> 22 & 3;
  // Pairs, exclusive and ordered accesses, and vector structures have a load bit. The compare-and-swap instructions
  // use the encodings of exclusive accesses with the bits 23 and 21.
  if (group == 0 && !is_vector) {
    const bool is_swap = (code & UINT32_C(0x00a00000)) == UINT32_C(0x00a00000);
    const bool is_swap_of_pair = (code & UINT32_C(0x80a07c00)) == UINT32_C(0x00207c00);
    return is_swap || is_swap_of_pair || (operation & 1) == 0;
  }
  if (group == 0 || group == 2) return (operation & 1) == 0;
  if (group == 1) return operation == 0;
  const bool is_authenticated = !is_second && (code & UINT32_C(0x00200400)) == UINT32_C(0x00200400); // ldraa, a load
  // Atomic operations on memory: ldadd, swp and others. ldapr, a load, has the same encoding.
  const bool is_atomic = !is_vector && !is_second && (code & UINT32_C(0x00200c00)) == UINT32_C(0x00200000);
  if (is_atomic) return (code & UINT32_C(0x0000f000)) != UINT32_C(0x0000c000);
  if (is_vector && operation == 2) return true; // a store of 128 bits
  return operation == 0 && !is_authenticated;
}

// Returns whether the instruction can access memory in a way that this file does not decode. This applies to system
// instructions such as `dc zva`, to instructions of SVE and SME, and to instructions that copy or set memory
// (FEAT_MOPS).
static inline bool cs_code_is_opaque(uint32_t code) SIGNAL_SAFE {
  const bool is_system = (code & UINT32_C(0xffc00000)) == UINT32_C(0xd5000000);
  const bool is_scalable = (code & UINT32_C(0x1e000000)) == UINT32_C(0x04000000);
  const bool is_matrix = (code & UINT32_C(0x9e000000)) == UINT32_C(0x80000000);
  const bool is_copy = (code & UINT32_C(0x3b200c00)) == UINT32_C(0x19000400);
  return is_system || is_scalable || is_matrix || is_copy;
}

// On Linux, compiled Swift code does not mark async functions by bit 60 of the saved frame pointer. Only this prologue
// shows that a function is async. It stores the AsyncContext, which is passed in x22, in the word below the frame
// record {x29, x30}:
//   sub sp, sp, #n
//   stp x29, x30, [sp, #k + 8]
//   …                           (other registers)
//   str x22, [sp, #k]
//   add x29, sp, #k + 8
//
// Returns the number of instructions up to the last instruction of this prologue, or 0 if the code does not start with
// such a prologue.
static inline size_t cs_code_async_prologue(const uint32_t *code, size_t count) SIGNAL_SAFE {
  bool has_context = false;
  uint32_t context = 0; // #k
  for (size_t index = 0; index < count; index++) {
    const uint32_t word = code[index];
    const uint32_t immediate = word >> 10 & 0xfff;
    if ((word & UINT32_C(0xffc003ff)) == UINT32_C(0xf90003f6)) { // str x22, [sp, #8 * immediate]
      has_context = true;
      context = immediate * 8;
    }
    if ((word & UINT32_C(0xffc003ff)) == UINT32_C(0x910003fd)) { // add x29, sp, #immediate
      return has_context && immediate == context + 8 ? index + 1 : 0;
    }
    const bool is_branch = (word & UINT32_C(0x7c000000)) == UINT32_C(0x14000000); // b, bl
    if (is_branch || word == CS_CODE_RETURN) return 0;
  }
  return 0;
}

#endif
