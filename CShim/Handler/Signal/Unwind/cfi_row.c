// Computes the row (the unwind rules for one pc): executes the instructions of the CIE, and then the instructions of
// the FDE up to the pc.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "cfi.h"

#include "cfi_reader.h"

// The maximum size of an expression. The limit is necessary, because the tables can be corrupt. Compilers do not
// generate larger expressions.
#define EXPRESSION_LIMIT_BYTES 1024

enum {
  CFA_ADVANCE_LOC = 0x40,
  CFA_OFFSET = 0x80,
  CFA_RESTORE = 0xc0,
  CFA_NOP = 0x00,
  CFA_SET_LOC = 0x01,
  CFA_ADVANCE_LOC1 = 0x02,
  CFA_ADVANCE_LOC2 = 0x03,
  CFA_ADVANCE_LOC4 = 0x04,
  CFA_OFFSET_EXTENDED = 0x05,
  CFA_RESTORE_EXTENDED = 0x06,
  CFA_UNDEFINED = 0x07,
  CFA_SAME_VALUE = 0x08,
  CFA_REGISTER = 0x09,
  CFA_REMEMBER_STATE = 0x0a,
  CFA_RESTORE_STATE = 0x0b,
  CFA_DEF_CFA = 0x0c,
  CFA_DEF_CFA_REGISTER = 0x0d,
  CFA_DEF_CFA_OFFSET = 0x0e,
  CFA_DEF_CFA_EXPRESSION = 0x0f,
  CFA_EXPRESSION = 0x10,
  CFA_OFFSET_EXTENDED_SF = 0x11,
  CFA_DEF_CFA_SF = 0x12,
  CFA_DEF_CFA_OFFSET_SF = 0x13,
  CFA_VAL_OFFSET = 0x14,
  CFA_VAL_OFFSET_SF = 0x15,
  CFA_VAL_EXPRESSION = 0x16,
  CFA_NEGATE_RA_STATE_WITH_PC = 0x2c, // AArch64
  CFA_NEGATE_RA_STATE = 0x2d,         // AArch64: from here on, the return address is signed, or no longer signed
  CFA_GNU_ARGS_SIZE = 0x2e,
};

// The state while the CFI instructions are executed.
typedef struct machine {
  cs_cfi_scratch *scratch;
  cs_cfi_reader reader;
  uint64_t location;
  uint64_t pc;
  uint32_t remembered_count;
  bool is_initial; // whether the instructions of the CIE are executed now, which apply to all pcs of the function
} machine;

// Sets the rule for a register. Rules for registers that this unwinder does not use, such as vector registers, are
// ignored.
static void set_rule(machine *run, uint64_t index, cs_cfi_rule rule, int64_t value) SIGNAL_SAFE {
  if (index >= CS_REGISTER_COUNT) return;
  run->scratch->row.rule[index] = rule;
  run->scratch->row.value[index] = value;
}

static void restore_rule(machine *run, uint64_t index) SIGNAL_SAFE {
  if (index >= CS_REGISTER_COUNT) return;
  run->scratch->row.rule[index] = run->scratch->initial.rule[index];
  run->scratch->row.value[index] = run->scratch->initial.value[index];
  run->scratch->row.expression_bytes[index] = run->scratch->initial.expression_bytes[index];
}

static void set_expression(machine *run, uint64_t index, cs_cfi_rule rule) SIGNAL_SAFE {
  const uint64_t size = cs_cfi_uleb(&run->reader);
  const uint8_t *expression = run->reader.at;
  cs_cfi_skip(&run->reader, size);
  if (size > EXPRESSION_LIMIT_BYTES) run->reader.is_bad = true;
  if (run->reader.is_bad || index > CS_CFI_CFA) return;
  run->scratch->row.rule[index] = rule;
  run->scratch->row.value[index] = (int64_t)(uintptr_t)expression;
  run->scratch->row.expression_bytes[index] = (uint16_t)size;
}

static void set_cfa_register(machine *run, uint64_t index) SIGNAL_SAFE {
  if (index >= CS_REGISTER_COUNT) {
    run->reader.is_bad = true;
  } else {
    run->scratch->row.cfa_register = (uint8_t)index;
    run->scratch->row.rule[CS_CFI_CFA] = CS_CFI_RULE_OFFSET;
  }
}

static void set_cfa_offset(machine *run, int64_t offset) SIGNAL_SAFE {
  run->scratch->row.value[CS_CFI_CFA] = offset;
}

// Multiplies as unsigned numbers: the values are untrusted and can overflow, which has a defined result only for
// unsigned numbers.
static int64_t scaled(uint64_t value, int64_t factor) SIGNAL_SAFE {
  return (int64_t)(value * (uint64_t)factor);
}

// Advances to the next row. Returns false if the next row begins after the pc: the current row is then the result.
static bool advance(machine *run, uint64_t distance) SIGNAL_SAFE {
  run->location += distance * run->scratch->function.code_alignment;
  return run->is_initial || run->location <= run->pc;
}

static void remember(machine *run) SIGNAL_SAFE {
  if (run->remembered_count == CS_CFI_REMEMBER_LIMIT) {
    run->reader.is_bad = true;
  } else {
    run->scratch->remembered[run->remembered_count++] = run->scratch->row;
  }
}

static void recall(machine *run) SIGNAL_SAFE {
  if (run->remembered_count == 0) {
    run->reader.is_bad = true;
  } else {
    run->scratch->row = run->scratch->remembered[--run->remembered_count];
  }
}

// Executes the instructions whose first operand is a register.
static void run_register_instruction(machine *run, uint8_t instruction) SIGNAL_SAFE {
  const int64_t factor = run->scratch->function.data_alignment;
  cs_cfi_reader *reader = &run->reader;
  const uint64_t index = cs_cfi_uleb(reader);
  switch (instruction) {
  case CFA_OFFSET_EXTENDED:
    set_rule(run, index, CS_CFI_RULE_OFFSET, scaled(cs_cfi_uleb(reader), factor));
    break;
  case CFA_OFFSET_EXTENDED_SF:
    set_rule(run, index, CS_CFI_RULE_OFFSET, scaled((uint64_t)cs_cfi_sleb(reader), factor));
    break;
  case CFA_VAL_OFFSET:
    set_rule(run, index, CS_CFI_RULE_VALUE_OFFSET, scaled(cs_cfi_uleb(reader), factor));
    break;
  case CFA_VAL_OFFSET_SF:
    set_rule(run, index, CS_CFI_RULE_VALUE_OFFSET, scaled((uint64_t)cs_cfi_sleb(reader), factor));
    break;
  case CFA_RESTORE_EXTENDED:
    restore_rule(run, index);
    break;
  case CFA_UNDEFINED:
    set_rule(run, index, CS_CFI_RULE_UNDEFINED, 0);
    break;
  case CFA_SAME_VALUE:
    set_rule(run, index, CS_CFI_RULE_SAME, 0);
    break;
  case CFA_REGISTER:
    set_rule(run, index, CS_CFI_RULE_REGISTER, (int64_t)cs_cfi_uleb(reader));
    break;
  case CFA_EXPRESSION:
  case CFA_VAL_EXPRESSION:
    // The rule for the CFA is stored after the rules for the registers. A register number that is too large must not
    // change it.
    set_expression(run, index < CS_REGISTER_COUNT ? index : UINT64_MAX,
                   instruction == CFA_EXPRESSION ? CS_CFI_RULE_EXPRESSION : CS_CFI_RULE_VALUE_EXPRESSION);
    break;
  case CFA_DEF_CFA:
    set_cfa_register(run, index);
    set_cfa_offset(run, (int64_t)cs_cfi_uleb(reader));
    break;
  case CFA_DEF_CFA_SF:
    set_cfa_register(run, index);
    set_cfa_offset(run, scaled((uint64_t)cs_cfi_sleb(reader), factor));
    break;
  case CFA_DEF_CFA_REGISTER:
    set_cfa_register(run, index);
    break;
  default:
    reader->is_bad = true;
    break;
  }
}

// Executes one instruction. Returns false if the current row is already the result.
static bool run_instruction(machine *run) SIGNAL_SAFE {
  cs_cfi_reader *reader = &run->reader;
  const uint8_t instruction = cs_cfi_byte(reader);
  const uint8_t operand = instruction & 0x3f;
  switch (instruction & 0xc0) {
  case CFA_ADVANCE_LOC:
    return advance(run, operand);
  case CFA_OFFSET:
    set_rule(run, operand, CS_CFI_RULE_OFFSET, scaled(cs_cfi_uleb(reader), run->scratch->function.data_alignment));
    return true;
  case CFA_RESTORE:
    restore_rule(run, operand);
    return true;
  default:
    break;
  }
  switch (instruction) {
  case CFA_NOP:
    return true;
  case CFA_SET_LOC:
    run->location = cs_cfi_pointer(reader, run->scratch->function.pointer_encoding, 0);
    return advance(run, 0);
  case CFA_ADVANCE_LOC1:
    return advance(run, cs_cfi_fixed(reader, 1));
  case CFA_ADVANCE_LOC2:
    return advance(run, cs_cfi_fixed(reader, 2));
  case CFA_ADVANCE_LOC4:
    return advance(run, cs_cfi_fixed(reader, 4));
  case CFA_REMEMBER_STATE:
    remember(run);
    return true;
  case CFA_RESTORE_STATE:
    recall(run);
    return true;
  case CFA_DEF_CFA_OFFSET:
    set_cfa_offset(run, (int64_t)cs_cfi_uleb(reader));
    return true;
  case CFA_DEF_CFA_OFFSET_SF:
    set_cfa_offset(run, scaled((uint64_t)cs_cfi_sleb(reader), run->scratch->function.data_alignment));
    return true;
  case CFA_DEF_CFA_EXPRESSION:
    set_expression(run, CS_CFI_CFA, CS_CFI_RULE_VALUE_EXPRESSION);
    return true;
  case CFA_NEGATE_RA_STATE_WITH_PC:
  case CFA_NEGATE_RA_STATE:
    run->scratch->row.is_signed = !run->scratch->row.is_signed;
    return true;
  case CFA_GNU_ARGS_SIZE:
    cs_cfi_uleb(reader);
    return true;
  default:
    run_register_instruction(run, instruction);
    return true;
  }
}

bool cs_cfi_run(cs_cfi_scratch *scratch, uint64_t pc) SIGNAL_SAFE {
  const cs_cfi_function *function = &scratch->function;
  memset(&scratch->row, 0, sizeof scratch->row);
  memset(&scratch->initial, 0, sizeof scratch->initial);
  machine run = {.scratch = scratch, .pc = pc, .is_initial = true};

  run.reader = cs_cfi_reader_make(function->initial_instructions, function->initial_end);
  while (!cs_cfi_reader_is_at_end(&run.reader))
    run_instruction(&run);
  if (run.reader.is_bad) return false;
  scratch->initial = scratch->row;

  run.is_initial = false;
  run.location = function->start;
  run.reader = cs_cfi_reader_make(function->instructions, function->instructions_end);
  while (!cs_cfi_reader_is_at_end(&run.reader) && run_instruction(&run)) {
  }
  // A row without a rule for the CFA cannot be used.
  return !run.reader.is_bad && scratch->row.rule[CS_CFI_CFA] != CS_CFI_RULE_SAME;
}

#endif
