// Finds the targets (addresses to which code refers), by the architecture of the image that contains the code.
#pragma once

#include "scope_targets_aarch64.h"
#include "scope_targets_x86_64.h"
#include <gelf.h>

/// Returns the number of targets of the code at `address`, at most `limit`.
static inline size_t cs_machine_targets(Elf *elf, const uint8_t *code, size_t count, uint64_t address,
                                        uint64_t *ret_targets, size_t limit) {
  GElf_Ehdr header;
  if (!gelf_getehdr(elf, &header)) return 0;
  switch (header.e_machine) {
  case EM_X86_64:
    return cs_code_targets(code, count, address, ret_targets, limit);
  case EM_AARCH64:
    return cs_code_targets_aarch64(code, count, address, ret_targets, limit);
  default:
    return 0;
  }
}

/// Returns the size that the deallocating deinit passes to the runtime, or 0 if the code does not contain it.
static inline uint32_t cs_machine_deallocated(Elf *elf, const uint8_t *code, size_t count) {
  GElf_Ehdr header;
  if (!gelf_getehdr(elf, &header)) return 0;
  switch (header.e_machine) {
  case EM_X86_64:
    return cs_code_deallocated(code, count);
  case EM_AARCH64:
    return cs_code_deallocated_aarch64(code, count);
  default:
    return 0;
  }
}
