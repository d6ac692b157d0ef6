#include "cs_test_aarch64.h"

#include <stdlib.h>

#include "../../../../CShim/Handler/Setup/Threads/alternate_stack.h"
#include "../../../../CShim/Handler/Signal/Capture/fault_aarch64.h"
#include "../../../../CShim/Handler/Signal/Capture/registers.h"
#include "../../../../CShim/Handler/Signal/Unwind/cfi.h"
#include "../../../../CShim/Ring/code_aarch64.h"

// The initial rule of the CIE is DW_CFA_def_cfa with the stack pointer and the offset 0.
static const uint8_t initial[] = {0x0c, CS_REGISTER_STACK_POINTER, 0};

int cs_test_row_is_signed(const uint8_t *instructions, size_t size, uint64_t offset) {
  const uint64_t start = 0x10000;
  cs_cfi_scratch *scratch = calloc(1, sizeof *scratch);
  if (scratch == NULL) return -1;
  scratch->function = (cs_cfi_function){.start = start,
                                        .end = start + 0x1000,
                                        .initial_instructions = initial,
                                        .initial_end = initial + sizeof initial,
                                        .instructions = instructions,
                                        .instructions_end = instructions + size,
                                        .code_alignment = 4,
                                        .data_alignment = -8};
  const int result = cs_cfi_run(scratch, start + offset) ? scratch->row.is_signed : -1;
  free(scratch);
  return result;
}

size_t cs_test_async_prologue(const uint32_t *code, size_t count) {
  return cs_code_async_prologue(code, count);
}

uint64_t cs_test_call_target(uint32_t code, uint64_t address) {
  return cs_code_call_target(code, address);
}

cs_test_access cs_test_access_of(uint32_t code, uint32_t *ret_base) {
  if (cs_code_is_opaque(code)) return CS_TEST_ACCESS_OPAQUE;
  if (!cs_code_is_access(code, ret_base)) return CS_TEST_ACCESS_NONE;
  return cs_code_is_store(code) ? CS_TEST_ACCESS_STORE : CS_TEST_ACCESS_LOAD;
}

uint64_t cs_test_syndrome(const uint8_t *records, size_t size) {
  return cs_syndrome_in(records, size);
}

uint64_t cs_test_syndrome_class(uint64_t syndrome) {
  return cs_syndrome_class(syndrome);
}

bool cs_test_is_user_address(uint64_t address, uint32_t bits) {
  return cs_is_user_address(address, bits);
}

uint64_t cs_test_alternate_stack_bytes(uint64_t minimum, uint64_t page) {
  return cs_alternate_stack_bytes(minimum, page);
}
