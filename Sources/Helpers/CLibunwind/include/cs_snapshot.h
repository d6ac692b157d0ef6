// Unwinds a thread of an ended process, from its registers, a copy of its stack, and the unwind tables of its images.
// libunwind unwinds a thread of this machine's architecture, and libdw unwinds a thread of another architecture. This
// header does not include the headers of the two libraries. All data in a snapshot can be forged. For this reason, only
// bytes in the snapshot are read, and the numbers of frames and of reads are limited.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// The maximum number of registers. The registers are in the order of their DWARF numbers, and the last register of the
/// architecture is the program counter: number 16 on x86-64, and 32 on AArch64.
#define CS_SNAPSHOT_REGISTER_LIMIT 33

/// The architecture of the process.
enum cs_snapshot_architecture {
  CS_SNAPSHOT_X86_64 = 1,
  CS_SNAPSHOT_AARCH64 = 2,
};

/// A memory range: `count` bytes that were at `address` in the process.
struct cs_snapshot_piece {
  uint64_t address;
  const uint8_t *bytes;
  uint64_t count;
};

/// A loaded image with its sections `.eh_frame_hdr` and `.eh_frame`. Both sections are empty if the image has no unwind
/// tables.
struct cs_snapshot_image {
  uint64_t start;
  uint64_t end;
  struct cs_snapshot_piece header;
  struct cs_snapshot_piece frames;
};

struct cs_snapshot {
  uint64_t architecture; // a constant of cs_snapshot_architecture
  uint64_t registers[CS_SNAPSHOT_REGISTER_LIMIT];
  struct cs_snapshot_piece stack;
  const struct cs_snapshot_image *images; // sorted by address, without overlaps
  size_t image_count;
  uint32_t is_bad_fetch;  // the processor could not fetch the instruction at pc, because a bad pointer was called
  uint32_t is_past_fault; // pc is the address after the faulting instruction
};

/// How a frame was found.
enum cs_snapshot_found {
  CS_SNAPSHOT_FOUND_CONTEXT = 1,       // by the pc of the registers
  CS_SNAPSHOT_FOUND_CFI = 2,           // by the unwind tables
  CS_SNAPSHOT_FOUND_FRAME_POINTER = 3, // by the library's method for code without tables
  CS_SNAPSHOT_FOUND_SCAN = 4,          // by the return address of a call through a bad pointer
};

/// The reason why unwinding ended.
enum cs_snapshot_stop {
  CS_SNAPSHOT_STOP_END = 0,       // unwinding reached the outermost frame
  CS_SNAPSHOT_STOP_LIMIT = 1,     // the array of frames is full
  CS_SNAPSHOT_STOP_NO_CALLER = 2, // a word of the stack or an unwind table was missing, or the caller was invalid
  CS_SNAPSHOT_STOP_LOOP = 3,      // the stack pointer did not increase from a frame to its caller
};

struct cs_snapshot_frame {
  uint64_t pc;
  uint64_t function_start; // address of the function; 0 if unknown
  uint64_t found;          // a constant of cs_snapshot_found
};

/// Initializes libunwind. Precondition: the process calls this function once, before it confines itself. The
/// initialization creates a pipe and queries memory pages of this process, which the sandbox forbids. Unwinding a
/// snapshot needs neither the pipe nor the queries.
void cs_snapshot_prepare(void);

/// Returns at most `capacity` frames, innermost first.
enum cs_snapshot_stop cs_snapshot_unwind(const struct cs_snapshot *snapshot, struct cs_snapshot_frame *ret_frames,
                                         size_t capacity, size_t *ret_count);
