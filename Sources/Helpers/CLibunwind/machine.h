// The properties of a processor architecture that an unwinder needs.
#pragma once

#include "cs_snapshot.h"
#include <stdbool.h>

/// The number of an architecture in ELF files, and the DWARF numbers of its registers.
struct cs_snapshot_machine {
  uint16_t elf_machine; // EM_X86_64 or EM_AARCH64
  unsigned sp;
  unsigned pc;
  // How many of the innermost callers can have the same stack pointer as their callee. On AArch64, the innermost
  // function can be a leaf function without a frame.
  unsigned leaf;
};

/// Returns the machine of an architecture, or NULL for an unknown number.
const struct cs_snapshot_machine *cs_snapshot_machine_of(uint64_t architecture);

/// After a call through a bad pointer, pc is not in any function, and the return address is on the stack (x86-64) or in
/// the link register (AArch64). Both libraries would find a wrong caller, so this function moves `registers` to the
/// caller. Returns false if the snapshot does not show such a call.
bool cs_snapshot_leave_bad_call(const struct cs_snapshot *snapshot, uint64_t *registers);

/// The registers with which an unwinder starts, and how the first frame was found.
struct cs_snapshot_start {
  uint64_t registers[CS_SNAPSHOT_REGISTER_LIMIT];
  uint64_t behind; // pc is this number of bytes after the instruction
  uint64_t found;  // a constant of cs_snapshot_found
};

/// Unwinds with libunwind, which supports only the architecture of this machine.
enum cs_snapshot_stop cs_snapshot_unwind_native(const struct cs_snapshot *snapshot,
                                                const struct cs_snapshot_start *start, struct cs_snapshot_frame *frames,
                                                size_t capacity, size_t *count);

/// Unwinds with libdw, which supports every architecture.
enum cs_snapshot_stop cs_snapshot_unwind_foreign(const struct cs_snapshot *snapshot,
                                                 const struct cs_snapshot_start *start,
                                                 struct cs_snapshot_frame *frames, size_t capacity, size_t *count);

/// Initializes libunwind.
void cs_snapshot_prepare_native(void);
