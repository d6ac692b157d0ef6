// Computes the caller's registers from the row (the unwind rules for the function's pc).
#include "cs_platform.h"

#if CS_SUPPORTED

#include "cfi.h"

#include "../Dispatch/trusted.h"
#include "cs_return_address.h"
#include "steps.h"

bool cs_cfi_prepare(cs_cfi_scratch *scratch, uint64_t pc) SIGNAL_SAFE {
  // Keeps the row of the last step: a deep recursion needs the same row many times.
  if (scratch->row_pc == pc && pc != 0) return true;
  scratch->row_pc = 0;
  cs_cfi_image image;
  if (!cs_cfi_image_of(pc, &image) || !cs_cfi_find(&image, pc, &scratch->function)) return false;
  if (!cs_cfi_run(scratch, pc)) return false;
  scratch->row_pc = pc;
  return true;
}

static bool evaluate(cs_cfi_scratch *scratch, int index, const uint64_t *registers, bool has_cfa, uint64_t cfa,
                     uint64_t *ret_value) SIGNAL_SAFE {
  const cs_cfi_row *row = &scratch->row;
  return cs_cfi_evaluate((const uint8_t *)(uintptr_t)row->value[index], row->expression_bytes[index], registers,
                         &scratch->memory, has_cfa, cfa, ret_value);
}

static bool find_cfa(cs_cfi_scratch *scratch, const uint64_t *registers, uint64_t *ret_cfa) SIGNAL_SAFE {
  const cs_cfi_row *row = &scratch->row;
  if (row->rule[CS_CFI_CFA] == CS_CFI_RULE_VALUE_EXPRESSION) {
    return evaluate(scratch, CS_CFI_CFA, registers, false, 0, ret_cfa);
  }
  *ret_cfa = registers[row->cfa_register] + (uint64_t)row->value[CS_CFI_CFA];
  return true;
}

// Computes the value of register `index` in the caller. Returns false if the memory with the value cannot be read.
static bool apply(cs_cfi_scratch *scratch, int index, const uint64_t *registers, uint64_t cfa,
                  uint64_t *ret_value) SIGNAL_SAFE {
  const cs_cfi_row *row = &scratch->row;
  const uint64_t value = (uint64_t)row->value[index];
  uint64_t address = 0;
  switch (row->rule[index]) {
  case CS_CFI_RULE_UNDEFINED:
    *ret_value = 0;
    return true;
  case CS_CFI_RULE_OFFSET:
    return cs_memory_read_word(&scratch->memory, cfa + value, ret_value);
  case CS_CFI_RULE_VALUE_OFFSET:
    *ret_value = cfa + value;
    return true;
  case CS_CFI_RULE_REGISTER:
    if (value >= CS_REGISTER_COUNT) return false;
    *ret_value = registers[value];
    return true;
  case CS_CFI_RULE_EXPRESSION:
    return evaluate(scratch, index, registers, true, cfa, &address) &&
           cs_memory_read_word(&scratch->memory, address, ret_value);
  case CS_CFI_RULE_VALUE_EXPRESSION:
    return evaluate(scratch, index, registers, true, cfa, ret_value);
  default: // the caller of this function omits rules of the kind SAME
    return false;
  }
}

cs_cfi_result cs_cfi_step(cs_cfi_scratch *scratch, uint64_t registers[CS_REGISTER_COUNT], bool is_exact) SIGNAL_SAFE {
  const uint64_t pc = registers[CS_REGISTER_PC] - (is_exact ? 0 : 1);
  if (!cs_cfi_prepare(scratch, pc)) return CS_CFI_UNKNOWN;
  const cs_cfi_row *row = &scratch->row;
  const int return_register = scratch->function.return_register;
  if (row->rule[return_register] == CS_CFI_RULE_UNDEFINED) return CS_CFI_OUTERMOST;
  // Each call saves its return address. A row without a rule for the return address is therefore incomplete. Exception:
  // where calls store the return address in the link register (AArch64), an interrupted function can still have it
  // there.
  const bool is_incomplete = CS_LEAF_HAS_NO_FRAME ? !is_exact : return_register == CS_REGISTER_PC;
  if (row->rule[return_register] == CS_CFI_RULE_SAME && is_incomplete) return CS_CFI_UNKNOWN;

  uint64_t cfa = 0;
  if (!find_cfa(scratch, registers, &cfa)) return CS_CFI_UNREADABLE;
  // The stack pointer must grow with each step. Exceptions: an interrupted function without a frame has the same stack
  // pointer as its caller, and a signal handler can run on another stack than the interrupted code.
  const bool may_be_equal = CS_LEAF_HAS_NO_FRAME && is_exact && cfa == registers[CS_REGISTER_STACK_POINTER];
  if (cfa <= registers[CS_REGISTER_STACK_POINTER] && !may_be_equal && !scratch->function.is_signal_frame) {
    return CS_CFI_UNKNOWN;
  }

  // Registers without a rule, which are most of them, keep their values.
  uint64_t caller[CS_REGISTER_COUNT];
  memcpy(caller, registers, sizeof caller);
  caller[CS_REGISTER_STACK_POINTER] = cfa;
  for (int index = 0; index < CS_REGISTER_COUNT; index++) {
    if (row->rule[index] == CS_CFI_RULE_SAME) continue;
    if (!apply(scratch, index, registers, cfa, &caller[index])) return CS_CFI_UNREADABLE;
  }
  if (row->is_signed) caller[return_register] = cs_return_address(caller[return_register]);
  caller[CS_REGISTER_PC] = caller[return_register];
  memcpy(registers, caller, sizeof caller);
  // A pc of 0 marks the outermost frame, except in a frame that a signal interrupted: there, it is the result of a call
  // through a null pointer, and the frame has a caller.
  return registers[CS_REGISTER_PC] == 0 && !scratch->function.is_signal_frame ? CS_CFI_OUTERMOST : CS_CFI_CALLER;
}

#endif
