// A snapshot of a running thread, as the handler would take it of a crashed one.
#ifndef CS_TEST_SNAPSHOT_H
#define CS_TEST_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CS_TEST_SNAPSHOT_STACK_BYTES  65536
#define CS_TEST_SNAPSHOT_FRAME_LIMIT  128
#define CS_TEST_SNAPSHOT_PATH_BYTES   512
#define CS_TEST_SNAPSHOT_REGISTER_SUM 17

typedef struct cs_test_snapshot {
  uint64_t registers[CS_TEST_SNAPSHOT_REGISTER_SUM]; // by DWARF number
  uint64_t stack_start;
  uint8_t stack[CS_TEST_SNAPSHOT_STACK_BYTES];
  size_t stack_bytes;
  // What the handler's unwinder finds from there; the first is in the same function.
  uint64_t frames[CS_TEST_SNAPSHOT_FRAME_LIMIT];
  size_t frame_count;
} cs_test_snapshot;

// Takes one in a callback of qsort_r, a function of glibc's that keeps no frame pointer.
bool cs_test_take_snapshot(cs_test_snapshot *ret_snapshot);

// Its stack, which is too long an array for Swift.
static inline const uint8_t *cs_test_snapshot_stack(const cs_test_snapshot *snapshot) {
  return snapshot->stack;
}

typedef struct cs_test_image {
  uint64_t bias;
  uint64_t start;
  uint64_t end;
  char path[CS_TEST_SNAPSHOT_PATH_BYTES];
} cs_test_image;

// The loaded images that have files; returns how many of `limit` there are.
size_t cs_test_list_images(cs_test_image *ret_images, size_t limit);

#endif
