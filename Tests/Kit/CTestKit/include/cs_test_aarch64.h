// Functions of the shield for AArch64 that compile on every architecture, for tests with constructed values.
#ifndef CS_TEST_AARCH64_H
#define CS_TEST_AARCH64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Runs the instructions of an FDE up to the code offset `offset`. The code alignment factor is 4. Returns 1 if the
// return address is signed at this offset, 0 if it is not, and -1 if the instructions are invalid.
int cs_test_row_is_signed(const uint8_t *instructions, size_t size, uint64_t offset);

// Returns the number of instructions of the prologue of an async function, or 0.
size_t cs_test_async_prologue(const uint32_t *code, size_t count);

// Returns the target address of the call instruction at `address`, or 0.
uint64_t cs_test_call_target(uint32_t code, uint64_t address);

typedef enum __attribute__((enum_extensibility(closed))) cs_test_access : uint32_t {
  CS_TEST_ACCESS_NONE = 0,
  CS_TEST_ACCESS_LOAD = 1,
  CS_TEST_ACCESS_STORE = 2,
  CS_TEST_ACCESS_OPAQUE = 3, // may access memory, but the decoder does not support the instruction
} cs_test_access;

// Decodes an instruction. Stores the number of the base register of a load or store instruction in `ret_base`.
cs_test_access cs_test_access_of(uint32_t code, uint32_t *ret_base);

// Returns the exception syndrome from the records that the kernel stores in a signal frame, or 0 if there is none.
uint64_t cs_test_syndrome(const uint8_t *records, size_t size);
uint64_t cs_test_syndrome_class(uint64_t syndrome);

bool cs_test_is_user_address(uint64_t address, uint32_t bits);
uint64_t cs_test_alternate_stack_bytes(uint64_t minimum, uint64_t page);

#endif
