// Finds the offset of the thread-local variable in which the Swift runtime stores the current task. No function of the
// runtime returns this offset, so this file decodes the instructions of four small functions of the runtime. If those
// of swift_task_getCurrent() or swift_task_currentPriority() differ from the expected ones, the shield records no
// tasks. If those of another function differ, records lack only the names of tasks, or their executors.
#include "cs_platform.h"

#if CS_SUPPORTED

#if defined(__aarch64__)
#include <string.h>

#include "../../../Ring/code_aarch64.h"
#include "../../Signal/Capture/task.h"
#include "../../Signal/Kernel/memory.h"
#include "swift_runtime.h"

#define CODE_COUNT 16

// The offset of the list of task-local values in a task. requests.c checks this offset at the first request in a task.
#define LOCALS_OFFSET 0x88

#define PUSH_FRAME    UINT32_C(0xa9bf7bfd) // stp x29, x30, [sp, #-16]!
#define SET_FRAME     UINT32_C(0x910003fd) // mov x29, sp
#define CALL_X1       UINT32_C(0xd63f0020) // blr x1
#define READ_POINTER  UINT32_C(0xd53bd048) // mrs x8, tpidr_el0
#define LOAD_TASK     UINT32_C(0xf8606900) // ldr x0, [x8, x0]
#define LOAD_EXECUTOR UINT32_C(0xf8606908) // ldr x8, [x8, x0]
#define BRANCH_TARGET UINT32_C(0xd503245f) // bti c
#define LOAD_ARGUMENT UINT32_C(0xf9400400) // ldr x0, [x0, #8]

static uint32_t scaled_immediate(uint32_t code) {
  return (code >> 10 & 0xfff) * 8;
}

// Returns whether the instructions are `adrp x0, page; ldr xN, [x0, #offset]`. `ret_address` receives the address of
// the loaded word.
static bool loads(const uint32_t code[2], uint64_t address, uint32_t target, uint64_t *ret_address) {
  const bool is_page = (code[0] & UINT32_C(0x9f00001f)) == UINT32_C(0x90000000);
  const bool is_load = (code[1] & UINT32_C(0xffc003ff)) == (UINT32_C(0xf9400000) | target);
  const uint64_t pages = (uint64_t)(code[0] >> 5 & 0x7ffff) << 2 | (code[0] >> 29 & 3);
  *ret_address = (address & ~UINT64_C(0xfff)) + cs_code_signed(pages << 12, 33) + scaled_immediate(code[1]);
  return is_page && is_load;
}

// Reads the TLS descriptor { function, argument } of a variable. If the variable is in the static TLS block, which each
// thread has from its start, the function returns the argument: the offset from the thread pointer. Otherwise, the
// argument is the address of { module, offset }.
static bool read_descriptor(uint64_t at, cs_task_layout *ret_layout) {
  uint64_t words[2] = {0};
  uint32_t code[3] = {0};
  uint64_t index[2] = {0};
  if (cs_memory_copy(words, at, sizeof words) != sizeof words) return false;
  if (cs_memory_copy(code, words[0], sizeof code) != sizeof code) return false;
  const uint32_t *first = code[0] == BRANCH_TARGET ? &code[1] : &code[0];
  if (first[0] == LOAD_ARGUMENT && first[1] == CS_CODE_RETURN) {
    ret_layout->offset = (int64_t)words[1];
    return true;
  }
  if (cs_memory_copy(index, words[1], sizeof index) != sizeof index || index[0] == 0) return false;
  ret_layout->tls_index = words[1];
  ret_layout->offset = 0;
  return true;
}

// A function that returns the variable starts with `stp; mov; … ; mrs x8, tpidr_el0; ldr xN, [x8, x0]`. The four
// instructions before mrs compute the variable's offset with a TLS descriptor. The linker can have replaced them by a
// shorter form.
static bool find_variable(const uint32_t *code, uint64_t address, uint32_t load, cs_task_layout *ret_layout) {
  const uint32_t *at = &code[2];
  const uint64_t place = address + 2 * CS_CODE_BYTES;
  const bool ends_with_nops = at[2] == CS_CODE_NOP && at[3] == CS_CODE_NOP;
  uint64_t word = 0;
  if (code[0] != PUSH_FRAME || code[1] != SET_FRAME || code[6] != READ_POINTER || code[7] != load) return false;
  if (at[3] == CALL_X1 && loads(at, place, 1, &word)) return read_descriptor(word, ret_layout);
  if (ends_with_nops && loads(at, place, 0, &word)) {
    return cs_memory_copy(&ret_layout->offset, word, sizeof ret_layout->offset) == sizeof ret_layout->offset;
  }
  // movz x0, #high, lsl #16; movk x0, #low
  const bool is_constant =
      (at[0] & UINT32_C(0xffe0001f)) == UINT32_C(0xd2a00000) && (at[1] & UINT32_C(0xffe0001f)) == UINT32_C(0xf2800000);
  ret_layout->offset = (int64_t)((uint64_t)(at[0] >> 5 & 0xffff) << 16 | (at[1] >> 5 & 0xffff));
  return ends_with_nops && is_constant;
}

static bool contains(const uint32_t *code, uint32_t first, uint32_t second) {
  for (size_t at = 0; at + 1 < CODE_COUNT; at++) {
    if (code[at] == first && code[at + 1] == second) return true;
  }
  return false;
}

// Returns whether the instructions test the flag of a name: the bit 30 of the word at 0x20, which is the bit 6 of the
// byte at 0x23.
static bool tests_name(const uint32_t code[2]) {
  const uint32_t load = code[0] & UINT32_C(0xffffffe0);
  const uint32_t test = code[1] & UINT32_C(0xfef80000);
  if (load == UINT32_C(0x39408c00)) return test == UINT32_C(0x36300000);
  return load == UINT32_C(0xb9402000) && test == UINT32_C(0x36f00000);
}

// Returns whether the function ends with a jump to the function that searches for the task's name.
static bool looks_for_names(const uint32_t *code, uint64_t address) {
  for (size_t at = 0; at < CODE_COUNT; at++) {
    uint32_t target[8];
    if ((code[at] & UINT32_C(0xfc000000)) != UINT32_C(0x14000000)) continue; // b
    const uint64_t distance = cs_code_signed((uint64_t)(code[at] & UINT32_C(0x03ffffff)) * CS_CODE_BYTES, 28);
    const uint64_t to = address + at * CS_CODE_BYTES + distance;
    if (cs_memory_copy(target, to, sizeof target) != sizeof target) continue;
    for (size_t index = 0; index + 1 < sizeof target / sizeof target[0]; index++) {
      if (tests_name(&target[index])) return true;
    }
  }
  return false;
}

static bool read_code(const void *function, uint64_t *ret_address, uint32_t ret_code[CODE_COUNT]) {
  const size_t size = CODE_COUNT * sizeof ret_code[0];
  *ret_address = (uint64_t)(uintptr_t)function;
  return function != NULL && cs_memory_copy(ret_code, *ret_address, size) == size;
}

// Finds the thread-local variable with the thread's executor, which is in the same TLS block as the variable with the
// current task.
static void find_executor(const cs_swift_runtime *runtime, cs_task_layout *layout) {
  uint32_t code[CODE_COUNT];
  uint64_t address = 0;
  cs_task_layout found = {0};
  if (!read_code(runtime->current_executor, &address, code) || !find_variable(code, address, LOAD_EXECUTOR, &found)) {
    return;
  }
  // If the variables are outside the static TLS block, each has its own pair { module, offset }, but cs_task_layout has
  // space for only one.
  if (found.tls_index != 0 || layout->tls_index != 0) return;
  layout->has_executor = true;
  layout->executor_offset = found.offset;
}

bool cs_task_layout_find(cs_task_layout *ret_layout) {
  uint32_t code[CODE_COUNT];
  uint64_t address = 0;
  cs_task_layout layout = {0};
  const cs_swift_runtime *runtime = cs_swift_runtime_find();
  if (!read_code(runtime->current_task, &address, code) || !find_variable(code, address, LOAD_TASK, &layout)) {
    return false;
  }
  // add x8, x0, #0x60; ldxp x9, x10, [x8]: reads the status of the task (two words)
  if (!read_code(runtime->task_priority, &address, code) ||
      !contains(code, UINT32_C(0x91018008), UINT32_C(0xc87f2909))) {
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
