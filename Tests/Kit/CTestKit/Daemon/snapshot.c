#include "cs_test_snapshot.h"

#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "../../../../CShim/Handler/Signal/Capture/registers.h"
#include "cs_testing.h"

_Static_assert(CS_TEST_SNAPSHOT_REGISTER_SUM == CS_REGISTER_COUNT, "the snapshot has all registers");

// This function has no sanitizer checks, because it copies whole stacks, and AddressSanitizer places poisoned bytes
// between the variables of a stack.
__attribute__((no_sanitize("address", "thread"), noinline)) static void copy(uint8_t *to, uint64_t from, size_t count) {
  const volatile uint8_t *bytes = (const volatile uint8_t *)(uintptr_t)from;
  for (size_t i = 0; i < count; i++)
    to[i] = bytes[i];
}

static bool copy_stack(cs_test_snapshot *snapshot) {
  pthread_attr_t attributes;
  void *start = NULL;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return false;
  pthread_attr_getstack(&attributes, &start, &size);
  pthread_attr_destroy(&attributes);
  const uint64_t end = (uint64_t)(uintptr_t)start + size;
  snapshot->stack_start = snapshot->registers[CS_REGISTER_STACK_POINTER];
  snapshot->stack_bytes = end - snapshot->stack_start;
  if (snapshot->stack_bytes > sizeof snapshot->stack) snapshot->stack_bytes = sizeof snapshot->stack;
  copy(snapshot->stack, snapshot->stack_start, snapshot->stack_bytes);
  return true;
}

static int snapshot_in_callback(const void *left, const void *right, void *context) {
  cs_test_snapshot *snapshot = context;
  ucontext_t here = {0};
  cs_ring_registers registers = {0};
  // Calls cs_testing_unwind_here() directly and not in a further function, because AddressSanitizer could place that
  // function's frame on a fake stack, and such frames cannot be compared.
  snapshot->frame_count = cs_testing_unwind_here(snapshot->frames, CS_TEST_SNAPSHOT_FRAME_LIMIT);
  if (getcontext(&here) != 0) return 0;
  cs_registers_from_context(&here, &registers);
  memcpy(snapshot->registers, registers.general, sizeof snapshot->registers);
  if (!copy_stack(snapshot)) snapshot->stack_bytes = 0;
  return *(const int *)left - *(const int *)right;
}

bool cs_test_take_snapshot(cs_test_snapshot *ret_snapshot) {
  int numbers[2] = {2, 1};
  memset(ret_snapshot, 0, sizeof *ret_snapshot);
  qsort_r(numbers, 2, sizeof numbers[0], snapshot_in_callback, ret_snapshot);
  return ret_snapshot->stack_bytes > 0 && ret_snapshot->frame_count > 0;
}

typedef struct listing {
  cs_test_image *images;
  size_t count;
  size_t limit;
} listing;

static int list_image(struct dl_phdr_info *info, size_t size, void *context) {
  (void)size;
  listing *list = context;
  const char *path = info->dlpi_name[0] != '\0' ? info->dlpi_name : "/proc/self/exe";
  if (path[0] != '/' || list->count == list->limit) return 0;
  cs_test_image *image = &list->images[list->count++];
  *image = (cs_test_image){.bias = info->dlpi_addr, .start = UINT64_MAX};
  (void)snprintf(image->path, sizeof image->path, "%s", path);
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    if (segment->p_type != PT_LOAD) continue;
    const uint64_t start = info->dlpi_addr + segment->p_vaddr;
    if (start < image->start) image->start = start;
    if (start + segment->p_memsz > image->end) image->end = start + segment->p_memsz;
  }
  return 0;
}

size_t cs_test_list_images(cs_test_image *ret_images, size_t limit) {
  listing list = {.images = ret_images, .limit = limit};
  dl_iterate_phdr(list_image, &list);
  return list.count;
}
