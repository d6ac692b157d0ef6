// Finds the offset of the thread-local variable in which the Swift runtime stores the current task. No function of the
// runtime returns this offset, so this file decodes the instructions of four small functions of the runtime. If those
// of swift_task_getCurrent() or swift_task_currentPriority() differ from the expected ones, the shield records no
// tasks. If those of another function differ, records lack only the names of tasks, or their executors.
#include "cs_platform.h"

#if CS_SUPPORTED

#if defined(__x86_64__)
#include <string.h>

#include "../../Signal/Capture/task.h"
#include "../../Signal/Kernel/memory.h"
#include "swift_runtime.h"

#define CODE_BYTES 48

// The offset of the list of task-local values in a task. requests.c checks this offset at the first request in a task.
#define LOCALS_OFFSET 0x88

static const uint8_t frame[] = {0x55, 0x48, 0x89, 0xe5};            // push %rbp; mov %rsp,%rbp
static const uint8_t lea_index[] = {0x48, 0x8d, 0x3d};              // lea index(%rip),%rdi
static const uint8_t fixed[] = {0x66, 0x66, 0x66, 0x64, 0x48, 0x8b, // mov %fs:0,%rax: the form to which the linker
                                                                    // shortens the lea and the call
                                0x04, 0x25, 0x00, 0x00, 0x00, 0x00};
static const uint8_t load[] = {0x48, 0x8b, 0x80};                          // mov offset(%rax),%rax
static const uint8_t load_executor[] = {0x48, 0x8b, 0x88};                 // mov offset(%rax),%rcx
static const uint8_t read_status[] = {0xf0, 0x48, 0x0f, 0xc7, 0x4f, 0x60}; // lock cmpxchg16b 0x60(%rdi)
static const uint8_t test_name[] = {0xf6, 0x47, 0x23, 0x40};               // testb $0x40,0x23(%rdi)

static int32_t displacement_at(const uint8_t *code) {
  int32_t value = 0;
  memcpy(&value, code, sizeof value);
  return value;
}

static bool find_variable(const uint8_t *code, uint64_t address, const uint8_t expected_load[sizeof load],
                          cs_task_layout *ret_layout) {
  size_t at = sizeof frame;
  if (memcmp(code, frame, sizeof frame) != 0) return false;
  if (memcmp(&code[at], lea_index, sizeof lea_index) == 0) {
    const size_t end = at + sizeof lea_index + sizeof(int32_t);
    ret_layout->tls_index = address + end + (uint64_t)(int64_t)displacement_at(&code[at + sizeof lea_index]);
    at = end + 5; // call __tls_get_addr
  } else if (memcmp(&code[at], fixed, sizeof fixed) == 0) {
    at += sizeof fixed;
  } else {
    return false;
  }
  if (memcmp(&code[at], expected_load, sizeof load) != 0) return false;
  ret_layout->offset = displacement_at(&code[at + sizeof load]);
  return true;
}

static bool contains(const uint8_t *code, const uint8_t *pattern, size_t size) {
  for (size_t at = 0; at + size <= CODE_BYTES; at++) {
    if (memcmp(&code[at], pattern, size) == 0) return true;
  }
  return false;
}

// Returns whether the function ends with a jump to the function that searches for the task's name.
static bool looks_for_names(const uint8_t *code, uint64_t address) {
  for (size_t at = 0; at + 5 <= CODE_BYTES; at++) {
    uint8_t target[sizeof test_name];
    if (code[at] != 0xe9) continue;
    const uint64_t to = address + at + 5 + (uint64_t)(int64_t)displacement_at(&code[at + 1]);
    if (cs_memory_copy(target, to, sizeof target) != sizeof target) continue;
    if (memcmp(target, test_name, sizeof test_name) == 0) return true;
  }
  return false;
}

static bool read_code(const void *function, uint64_t *ret_address, uint8_t ret_code[CODE_BYTES]) {
  *ret_address = (uint64_t)(uintptr_t)function;
  return function != NULL && cs_memory_copy(ret_code, *ret_address, CODE_BYTES) == CODE_BYTES;
}

// Finds the thread-local variable with the thread's executor, which is in the same TLS block as the variable with the
// current task.
static void find_executor(const cs_swift_runtime *runtime, cs_task_layout *layout) {
  uint8_t code[CODE_BYTES];
  uint64_t address = 0;
  cs_task_layout found = {0};
  if (!read_code(runtime->current_executor, &address, code) || !find_variable(code, address, load_executor, &found)) {
    return;
  }
  layout->has_executor = found.tls_index == layout->tls_index;
  layout->executor_offset = found.offset;
}

bool cs_task_layout_find(cs_task_layout *ret_layout) {
  uint8_t code[CODE_BYTES];
  uint64_t address = 0;
  cs_task_layout layout = {0};
  const cs_swift_runtime *runtime = cs_swift_runtime_find();
  if (!read_code(runtime->current_task, &address, code) || !find_variable(code, address, load, &layout)) {
    return false;
  }
  if (!read_code(runtime->task_priority, &address, code) || !contains(code, read_status, sizeof read_status)) {
    return false;
  }
  layout.has_names = read_code(runtime->task_name, &address, code) && looks_for_names(code, address);
  layout.locals_offset = LOCALS_OFFSET;
  find_executor(runtime, &layout);
  layout.is_known = true;
  *ret_layout = layout;
  return true;
}
#endif

#endif
