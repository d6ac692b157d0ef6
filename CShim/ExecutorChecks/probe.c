// Tests the hooks: asks the runtime whether an executor that no task has (the probe) is the current one. The resulting
// calls of the hooks show whether the runtime calls the hooks at all, which of its calls end the process, and whether
// this code finds the program's call.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <stddef.h>

#include "executor_checks.h"

// A flag for swift_task_isCurrentExecutorWithFlags(): the runtime ends the process if the executor is not the current
// one. Without the flag, the runtime only returns the answer. `Task.immediate`, an isolated deinit, and a cast to a
// conformance that is isolated to the main actor ask the runtime without the flag.
#define MUST_HOLD UINT64_C(8)

// The address of this constant identifies the probe. Its value is unique, and in particular not zero, because the
// linker can merge equal constants into one.
const uint64_t cs_executor_probe = UINT64_C(0x43534953504f5245);

static __thread struct {
  uint32_t questions;
  uint32_t checks;
  uint64_t pc;
  cs_executor_asker asker;
} seen;

void cs_executor_probe_asked(const cs_executor_asker *asker) {
  seen.questions++;
  seen.asker = *asker;
}

void cs_executor_probe_checked(const void *frame) {
  seen.checks++;
  cs_calls_call call;
  seen.pc = cs_executor_find_call(frame, &call) ? call.pc : 0;
}

__attribute__((always_inline)) static inline bool ask(uint64_t flags) {
  return swift_task_isCurrentExecutorWithFlags((uintptr_t)&cs_executor_probe, 0, flags);
}

// Returns the callee-saved register in which the runtime's function keeps its flags until it calls the hook, or -1 if
// there is none. Calls the runtime's function with unique flags, and searches for them in the registers. Also returns
// -1 if these calls reach the hook with another return address than `return_address`: the examined check then took
// another path through the runtime, so the found register does not apply to it.
static int32_t flag_register(uint64_t return_address) {
  // These values set no flag that the runtime defines. The code adds MUST_HOLD to each of them.
  static const uint64_t marks[] = {UINT64_C(0x5153b4d1a7c90000), UINT64_C(0x2e8c6f355ab20000),
                                   UINT64_C(0x7a09d3ec81640000)};
  uint32_t candidates = (1u << CS_EXECUTOR_REGISTERS) - 1;
  for (uint32_t mark = 0; mark < sizeof marks / sizeof *marks; mark++) {
    seen.asker.return_address = 0;
    (void)ask(marks[mark] | MUST_HOLD);
    if (seen.asker.return_address != return_address) return -1;
    for (uint32_t index = 0; index < CS_EXECUTOR_REGISTERS; index++) {
      if (seen.asker.registers[index] != (marks[mark] | MUST_HOLD)) candidates &= ~(1u << index);
    }
  }
  return candidates == 0 ? -1 : __builtin_ctz(candidates);
}

bool cs_executor_must_hold(const cs_executor_asker *asker) {
  const int32_t number = flag_register(asker->return_address);
  return number >= 0 && (asker->registers[number] & MUST_HOLD) != 0;
}

// This is a separate function, because the test checks that the found call site is inside this function.
__attribute__((noinline)) static bool finds_own_place(void) {
  const bool passes = ask(MUST_HOLD);
  const uint64_t start = (uintptr_t)&finds_own_place;
  return passes && seen.pc > start && seen.pc < start + 512;
}

cs_executor_obstacle cs_executor_test(void) {
  if (!cs_executor_find_runtime()) return CS_EXECUTOR_NO_PLACE;
  seen.questions = 0;
  seen.checks = 0;
  // The first call omits the flag MUST_HOLD: if the runtime does not call the hooks, a call with the flag would end the
  // process.
  if (ask(0) || seen.questions != 1 || seen.checks != 0) return CS_EXECUTOR_NOT_CALLED;
  if (!ask(MUST_HOLD) || seen.questions != 2 || seen.checks != 1) return CS_EXECUTOR_NOT_CALLED;
  if (!swift_task_isCurrentExecutor((uintptr_t)&cs_executor_probe, 0) || seen.checks != 2)
    return CS_EXECUTOR_OLD_CHECKS;
  if (flag_register(seen.asker.return_address) < 0) return CS_EXECUTOR_UNTOLD;
  return finds_own_place() ? CS_EXECUTOR_WORKS : CS_EXECUTOR_NO_PLACE;
}

#endif
