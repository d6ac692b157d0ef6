#include "machine.h"
#include "memory.h"
#include <elf.h>

enum { AARCH64_LINK_REGISTER = 30 };

const struct cs_snapshot_machine *cs_snapshot_machine_of(uint64_t architecture) {
  static const struct cs_snapshot_machine x86_64 = {.elf_machine = EM_X86_64, .sp = 7, .pc = 16};
  static const struct cs_snapshot_machine aarch64 = {.elf_machine = EM_AARCH64, .sp = 31, .pc = 32, .leaf = 1};
  switch (architecture) {
  case CS_SNAPSHOT_X86_64:
    return &x86_64;
  case CS_SNAPSHOT_AARCH64:
    return &aarch64;
  default:
    return NULL;
  }
}

bool cs_snapshot_leave_bad_call(const struct cs_snapshot *snapshot, uint64_t *registers) {
  const struct cs_snapshot_machine *machine = cs_snapshot_machine_of(snapshot->architecture);
  uint64_t pc = 0;
  if (cs_snapshot_image_at(snapshot, registers[machine->pc]) && !snapshot->is_bad_fetch) return false;
  if (snapshot->architecture == CS_SNAPSHOT_AARCH64)
    pc = cs_snapshot_code(snapshot, registers[AARCH64_LINK_REGISTER]);
  else if (!cs_snapshot_read_stack(snapshot, registers[machine->sp], &pc))
    return false;
  if (!cs_snapshot_image_at(snapshot, pc - 1)) return false;
  registers[machine->pc] = pc;
  if (snapshot->architecture == CS_SNAPSHOT_X86_64) registers[machine->sp] += sizeof pc;
  return true;
}
