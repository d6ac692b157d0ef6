// DWARF call frame information (CFI): tables with which an unwinder computes the registers of a function's caller from
// the function's own registers. An FDE describes one function, and a CIE contains what several FDEs share. The CFA
// (canonical frame address) is the stack pointer's value before the call. A row contains the rules for one pc.
//
//   cfi_find.c        .eh_frame_hdr -> the FDE and CIE of a pc
//   cfi_row.c         their instructions -> the row of rules at that pc
//   cfi_expression.c  a rule's expression -> a value
//   cfi_step.c        the row -> the caller's registers
//
// The tables are read from the memory to which the loader mapped them, and are not trusted. Each read is checked to be
// inside the image, the FDE or the CIE that is being read. Each loop ends, because every iteration reads at least one
// more byte. If the tables of a frame contain an unknown construct, the unwinder uses the frame pointer instead for
// this frame.
#ifndef CS_CFI_H
#define CS_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../Capture/registers.h"
#include "../Kernel/memory.h"
#include "cs_signal_safe.h"

// The maximum nesting of DW_CFA_remember_state. Compilers nest this instruction only once.
#define CS_CFI_REMEMBER_LIMIT 8

// The mapped range of an image and the address of its .eh_frame_hdr.
typedef struct cs_cfi_image {
  uint64_t start;
  uint64_t end;
  uint64_t header;
} cs_cfi_image;

// The data of a function, from its FDE and the CIE.
typedef struct cs_cfi_function {
  uint64_t start;
  uint64_t end;
  const uint8_t *initial_instructions;
  const uint8_t *initial_end;
  const uint8_t *instructions;
  const uint8_t *instructions_end;
  uint64_t code_alignment;
  int64_t data_alignment;
  uint8_t pointer_encoding;
  uint8_t return_register;
  bool is_signal_frame;
} cs_cfi_function;

typedef enum cs_cfi_rule : uint8_t {
  CS_CFI_RULE_SAME = 0,
  CS_CFI_RULE_UNDEFINED,
  CS_CFI_RULE_OFFSET,           // saved at CFA + value
  CS_CFI_RULE_VALUE_OFFSET,     // equals CFA + value
  CS_CFI_RULE_REGISTER,         // equals register `value`
  CS_CFI_RULE_EXPRESSION,       // saved at the result of the expression at address `value`
  CS_CFI_RULE_VALUE_EXPRESSION, // equals the result of the expression at address `value`
} cs_cfi_rule;

// The rules for the registers at one pc. The element with index CS_REGISTER_COUNT is the rule for the CFA. For the CFA,
// the rule OFFSET means a register plus an offset.
typedef struct cs_cfi_row {
  int64_t value[CS_REGISTER_COUNT + 1];
  uint16_t expression_bytes[CS_REGISTER_COUNT + 1];
  uint8_t rule[CS_REGISTER_COUNT + 1];
  uint8_t cfa_register;
  bool is_signed; // AArch64: the return address has a signature
} cs_cfi_row;

#define CS_CFI_CFA CS_REGISTER_COUNT

// The working memory of one unwind. The structure is too large for the stack frame of a handler.
typedef struct cs_cfi_scratch {
  cs_memory memory;
  cs_cfi_function function;
  uint64_t row_pc; // the pc to which `function` and `row` belong; 0: none
  cs_cfi_row row;
  cs_cfi_row initial;
  cs_cfi_row remembered[CS_CFI_REMEMBER_LIMIT];
} cs_cfi_scratch;

typedef enum cs_cfi_result {
  CS_CFI_CALLER,      // the registers are now the caller's
  CS_CFI_OUTERMOST,   // the tables say that there is no caller
  CS_CFI_UNKNOWN,     // there is no usable table for this pc; the registers are unchanged
  CS_CFI_UNREADABLE,  // a rule refers to unreadable memory; the registers are unchanged
  CS_CFI_INTERRUPTED, // unwind.c: the registers are now those of the code that a signal interrupted
} cs_cfi_result;

// Finds the image that contains `pc`. Returns false if no image contains `pc`, or if the image has no tables.
bool cs_cfi_image_of(uint64_t pc, cs_cfi_image *ret_image) SIGNAL_SAFE;

// For the setup: stores the bounds of the executable's segment that contains .eh_frame_hdr and .eh_frame. They are
// needed if the executable's segments are not contiguous, because _dl_find_object then returns only the bounds of the
// code segment.
void cs_cfi_set_tables(uint64_t start, uint64_t end);

bool cs_cfi_find(const cs_cfi_image *image, uint64_t pc, cs_cfi_function *ret_function) SIGNAL_SAFE;

// Computes scratch->row for `pc` from scratch->function.
bool cs_cfi_run(cs_cfi_scratch *scratch, uint64_t pc) SIGNAL_SAFE;

// Evaluates a DWARF expression of `size` bytes. If `has_initial` is true, pushes `initial` on the expression's stack
// first.
bool cs_cfi_evaluate(const uint8_t *expression, size_t size, const uint64_t registers[CS_REGISTER_COUNT],
                     cs_memory *memory, bool has_initial, uint64_t initial, uint64_t *ret_value) SIGNAL_SAFE;

// Replaces the registers of a function by those of the function's caller. `is_exact`: whether the pc is the address of
// an instruction, and not a return address.
cs_cfi_result cs_cfi_step(cs_cfi_scratch *scratch, uint64_t registers[CS_REGISTER_COUNT], bool is_exact) SIGNAL_SAFE;

// Sets scratch->function and scratch->row for `pc`. Returns false if the tables contain no function for `pc`.
bool cs_cfi_prepare(cs_cfi_scratch *scratch, uint64_t pc) SIGNAL_SAFE;

#endif
