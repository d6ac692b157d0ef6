#include <execinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../../../CShim/Ring/crc32c.h"
#include "cs_test_support.h"
#include "cs_testing.h"

typedef struct comparison {
  uint64_t *shim;
  uint64_t *glibc;
  size_t shim_count;
  size_t glibc_count;
  size_t limit;
} comparison;

// A callback of qsort_r, which is a function of glibc without a frame pointer. The test compares the callers that
// backtrace() returns from the frame of qsort_r on, because a sanitizer adds frames below it.
static int compare_in_callback(const void *left, const void *right, void *context) {
  comparison *now = context;
  void *addresses[64];
  now->shim_count = cs_testing_unwind_here(now->shim, now->limit);
  const int count = backtrace(addresses, (int)(now->limit < 64 ? now->limit : 64));
  int first = 0;
  while (first < count && addresses[first] != __builtin_return_address(0))
    first++;
  now->glibc_count = (size_t)(count - first);
  for (int index = first; index < count; index++) {
    now->glibc[index - first] = (uint64_t)(uintptr_t)addresses[index];
  }
  return *(const int *)left - *(const int *)right;
}

void cs_test_unwind_both(uint64_t *ret_shim, size_t *ret_shim_count, uint64_t *ret_glibc, size_t *ret_glibc_count,
                         size_t limit) {
  comparison now = {.shim = ret_shim, .glibc = ret_glibc, .limit = limit};
  int numbers[2] = {2, 1};
  qsort_r(numbers, 2, sizeof numbers[0], compare_in_callback, &now);
  *ret_shim_count = now.shim_count;
  *ret_glibc_count = now.glibc_count;
}

// A .eh_frame_hdr with one entry, its CIE and its FDE. The described function starts 256 bytes after the header.
// clang-format off
static const uint8_t good[] = {
    // 0: version, encodings; .eh_frame (not read); one row: function at 256, FDE at 52
    1, 0x1b, 0x03, 0x3b, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 52, 0, 0, 0,
    // 20: CIE of 28 bytes: version 1, "zR", alignments 1 and -8, return register 16, pc-relative sdata4;
    // CFA = rsp + 8, rip at CFA - 8, rbx from an expression (breg7 0, plus_uconst 8, deref)
    28, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1, 0x16, 3, 5, 0x77, 0, 0x23,
    8, 6, 0, 0,
    // 52: FDE of 32 bytes: CIE 36 bytes before its second word, function at 256 (196 bytes behind this word), 64 bytes
    32, 0, 0, 0, 36, 0, 0, 0, 196, 0, 0, 0, 64, 0, 0, 0, 0,
    // 69: advance 1; CFA offset 16; rbp at CFA - 16; advance 3; CFA register rbp; remember; CFA = expression; recall;
    // r12 is in r13; advance 60
    0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x0a, 0x0f, 2, 0x77, 8, 0x0b, 0x09, 12, 13, 0x7c, 0,
};
// clang-format on

#define FUNCTION_OFFSET 256
#define ROOM_BYTES      4096

// Copies the bytes to the end of a page, so that an unmapped page follows them.
static bool read_at_edge(uint8_t *room_end, const uint8_t *bytes, size_t size) {
  uint8_t *start = room_end - size;
  memcpy(start, bytes, size);
  return cs_testing_read_frame_information(start, size, 0, FUNCTION_OFFSET + 10);
}

static uint8_t *make_room(void) {
  uint8_t *room = mmap(NULL, 2 * ROOM_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED || mprotect(room + ROOM_BYTES, ROOM_BYTES, PROT_NONE) != 0) abort();
  return room;
}

bool cs_test_good_frame_information(void) {
  uint8_t *room = make_room();
  const bool is_read = read_at_edge(room + ROOM_BYTES, good, sizeof good);
  munmap(room, 2 * ROOM_BYTES);
  return is_read;
}

uint32_t cs_test_hostile_frame_information(uint32_t *ret_tried) {
  uint8_t *room = make_room();
  uint32_t tried = 0;
  uint32_t accepted = 0;
  for (size_t size = 0; size < sizeof good; size++, tried++)
    accepted += read_at_edge(room + ROOM_BYTES, good, size);
  for (size_t index = 0; index < sizeof good; index++) {
    uint8_t bytes[sizeof good];
    memcpy(bytes, good, sizeof good);
    for (unsigned value = 0; value < 256; value++, tried++) {
      bytes[index] = (uint8_t)value;
      accepted += read_at_edge(room + ROOM_BYTES, bytes, sizeof bytes);
    }
  }
  munmap(room, 2 * ROOM_BYTES);
  *ret_tried = tried;
  return accepted;
}

uint32_t cs_test_crc32c_software(uint32_t crc, const void *bytes, size_t size) {
  return cs_crc32c_software(crc, bytes, size);
}
