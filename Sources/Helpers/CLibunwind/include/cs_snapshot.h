// Unwinds a thread of an ended process, from its registers, a copy of its stack and the unwind tables of its images.
// libunwind stays behind this header. Everything in a snapshot may be forged: no byte outside of it is read, and both
// the frames and libunwind's reads are limited.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// Registers by DWARF number, the program counter last.
#define CS_SNAPSHOT_REGISTER_COUNT 17

/// Bytes of the process: `count` of them, originally at `address`.
struct cs_snapshot_piece {
  uint64_t address;
  const uint8_t *bytes;
  uint64_t count;
};

/// A loaded image with its `.eh_frame_hdr` and `.eh_frame`; both empty where there are none.
struct cs_snapshot_image {
  uint64_t start;
  uint64_t end;
  struct cs_snapshot_piece header;
  struct cs_snapshot_piece frames;
};

struct cs_snapshot {
  uint64_t registers[CS_SNAPSHOT_REGISTER_COUNT];
  struct cs_snapshot_piece stack;
  const struct cs_snapshot_image *images; // by address, none overlaps the next
  size_t image_count;
  uint32_t is_bad_fetch;  // the processor could not run the instruction at pc: it was called by mistake
  uint32_t is_past_fault; // pc stands behind the instruction that faulted
};

/// How a frame was found.
enum cs_snapshot_found {
  CS_SNAPSHOT_FOUND_CONTEXT = 1,       // the registers' pc
  CS_SNAPSHOT_FOUND_CFI = 2,           // the tables
  CS_SNAPSHOT_FOUND_FRAME_POINTER = 3, // libunwind's way without tables
  CS_SNAPSHOT_FOUND_SCAN = 4,          // the return address that a call through a bad pointer has pushed
};

/// Why unwinding ended.
enum cs_snapshot_stop {
  CS_SNAPSHOT_STOP_END = 0,       // the outermost frame says so
  CS_SNAPSHOT_STOP_LIMIT = 1,     // no place for more frames
  CS_SNAPSHOT_STOP_NO_CALLER = 2, // a word was missing, or a table, or what they say leads nowhere
  CS_SNAPSHOT_STOP_LOOP = 3,      // the stack pointer did not grow
};

struct cs_snapshot_frame {
  uint64_t pc;
  uint64_t function_start; // 0 when unknown
  uint64_t found;          // cs_snapshot_found
};

/// Called once, before the process is confined: libunwind creates a pipe and asks for pages of its own process, which
/// it never uses for a snapshot.
void cs_snapshot_prepare(void);

/// Innermost first, `capacity` frames at most.
enum cs_snapshot_stop cs_snapshot_unwind(const struct cs_snapshot *snapshot, struct cs_snapshot_frame *ret_frames,
                                         size_t capacity, size_t *ret_count);
