// A snapshot of a running thread, like the handler's record of a crashing thread.
#ifndef CS_TEST_SNAPSHOT_H
#define CS_TEST_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CS_TEST_SNAPSHOT_STACK_BYTES 65536
#define CS_TEST_SNAPSHOT_FRAME_LIMIT 128
#define CS_TEST_SNAPSHOT_PATH_BYTES  512
#if defined(__aarch64__)
#define CS_TEST_SNAPSHOT_REGISTER_SUM 33
#else
#define CS_TEST_SNAPSHOT_REGISTER_SUM 17
#endif

typedef struct cs_test_snapshot {
  uint64_t registers[CS_TEST_SNAPSHOT_REGISTER_SUM]; // indexed by DWARF register number
  uint64_t stack_start;
  uint8_t stack[CS_TEST_SNAPSHOT_STACK_BYTES];
  size_t stack_bytes;
  // The frames that the handler's unwinder finds, beginning with the function in which the registers were taken.
  uint64_t frames[CS_TEST_SNAPSHOT_FRAME_LIMIT];
  size_t frame_count;
} cs_test_snapshot;

// Takes a snapshot in a callback of qsort_r, which is a glibc function without a frame pointer.
bool cs_test_take_snapshot(cs_test_snapshot *ret_snapshot);

// Returns the stack. Swift cannot import an array of this length as a member.
static inline const uint8_t *cs_test_snapshot_stack(const cs_test_snapshot *snapshot) {
  return snapshot->stack;
}

typedef struct cs_test_image {
  uint64_t bias;
  uint64_t start;
  uint64_t end;
  char path[CS_TEST_SNAPSHOT_PATH_BYTES];
} cs_test_image;

// Lists the loaded images that have files. Returns their number, at most `limit`.
size_t cs_test_list_images(cs_test_image *ret_images, size_t limit);

#endif
