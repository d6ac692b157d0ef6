// Secret strings in memory, which a report must not contain.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../../../../CShim/Handler/Signal/Capture/record.h"
#include "../../../../CShim/Handler/Signal/Capture/task.h"
#include "cs_shim.h"
#include "instructions.h"
#include "ways.h"

// While this function faults, a register has the address of the secret on the heap.
__attribute__((noinline)) static void crash_with(const char *secret, const char *copy) {
  cs_test_fault_with(secret, copy);
}

static void keep_secrets(void) {
  char on_stack[64];
  char *on_heap = strdup(CS_TEST_HEAP_SECRET);
  memcpy(on_stack, CS_TEST_STACK_SECRET, sizeof CS_TEST_STACK_SECRET);
  crash_with(on_heap, on_stack);
}

int cs_test_run_with_secrets(const char *memory, const char *directory) {
  const int child = cs_test_fork();
  if (child != 0) return cs_test_wait(child);
  setenv("CRASHSHIELD_MEMORY", memory, 1);
  // Replaces the value of PATH by a secret, if the value is long enough. The environment is in memory above the first
  // thread's stack.
  extern char **environ;
  for (char **entry = environ; *entry != NULL; entry++) {
    char *value = strchr(*entry, '=');
    const bool is_path = strncmp(*entry, "PATH=", 5) == 0;
    if (is_path && strlen(value) > sizeof CS_TEST_ENVIRONMENT_SECRET) {
      memcpy(value + 1, CS_TEST_ENVIRONMENT_SECRET, sizeof CS_TEST_ENVIRONMENT_SECRET);
    }
  }
  cs_test_start(directory);
  keep_secrets();
  _exit(93);
}

int cs_test_run_restricted(cs_test_restriction restriction, const char *directory) {
  const int child = cs_test_fork();
  if (child != 0) return cs_test_wait(child);
  setenv("CRASHSHIELD_MEMORY", "full", 1);
  if (restriction == CS_TEST_RESTRICTED_BEFORE) prctl(PR_SET_DUMPABLE, 0);
  cs_test_start(directory);
  const cs_shim_text operation = {.start = "GET /", .bytes = 5};
  cs_shim_request_run(cs_shim_request_begin(operation, operation));
  if (restriction == CS_TEST_RESTRICTED_AFTER) prctl(PR_SET_DUMPABLE, 0);
  // The kernel also restricts dumps of a process that has changed its user.
  if (restriction == CS_TEST_RESTRICTED_DROPPED && setresuid(65534, 65534, 65534) != 0) _exit(94);
  keep_secrets();
  _exit(93);
}

void cs_test_scrub(uint8_t bytes[64], uint64_t mapped, uint64_t held) {
  cs_ring_registers registers = {.general_count = 1};
  registers.general[0] = held;
  _Alignas(8) uint8_t copy[64];
  memcpy(copy, bytes, sizeof copy);
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
  void *page = mmap((void *)(uintptr_t)(mapped & ~UINT64_C(4095)), 4096, PROT_READ, flags, -1, 0);
  cs_scrub(copy, sizeof copy, &registers);
  if (page != MAP_FAILED) munmap(page, 4096);
  memcpy(bytes, copy, sizeof copy);
}

bool cs_test_task_layout_is_known(void) {
  cs_task_layout layout = {0};
  return cs_task_layout_find(&layout);
}

bool cs_test_task_has_names(void) {
  cs_task_layout layout = {0};
  return cs_task_layout_find(&layout) && layout.has_names;
}
