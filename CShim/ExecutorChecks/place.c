// Determines the call sites of checks, and which checks are consequences of an earlier check.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <dlfcn.h>
#include <stddef.h>

#include "executor_checks.h"

// The `distance` of a check whose runtime function is called by the program itself. Only the frame of this runtime
// function is between the hook's frame and the frame of the program's function.
#define DIRECT 1

static cs_calls_range runtime;
// A function of libgcc_s that returns the start address of the function that contains `address`. NULL if libgcc_s is
// not loaded.
static const void *(*function_of)(const void *address);

// The last failing check on this thread that the hook let pass.
static __thread struct {
  uintptr_t identity; // 0: none
  cs_calls_call call;
} last;

bool cs_executor_find_runtime(void) {
  cs_calls_range own;
  function_of = (const void *(*)(const void *))dlsym(RTLD_DEFAULT, "_Unwind_FindEnclosingFunction");
  return cs_calls_image((uintptr_t)&swift_task_isCurrentExecutorWithFlags, &runtime) &&
         cs_calls_image((uintptr_t)&cs_executor_find_runtime, &own) && own.start != runtime.start;
}

bool cs_executor_find_call(const void *frame, cs_calls_call *ret_call) {
  return cs_calls_find(frame, &runtime, ret_call);
}

// `preconditionIsolated` and similar functions are in the runtime. The call site of these checks is the program's call
// of the runtime. In contrast, one compiled copy of `assumeIsolated` in the program can serve many calls. The compiler
// can also insert a check at the start of a function that has many callers. For `assumeIsolated` and for inserted
// checks, the number that identifies the call site therefore also depends on the return address in the caller.
uint64_t cs_executor_place(const cs_calls_call *call) {
  if (call->distance > DIRECT) return call->pc;
  return call->pc ^ call->caller * UINT64_C(0x9E3779B97F4A7C15);
}

void cs_executor_passed(uintptr_t identity, const cs_calls_call *call) {
  last.identity = identity;
  last.call = *call;
}

// NOLINTBEGIN(performance-no-int-to-ptr): addresses of code
static bool is_of_one_function(uint64_t first, uint64_t second) {
  const void *const function = function_of((const void *)(first - 1));
  return function != NULL && function == function_of((const void *)(second - 1));
}
// NOLINTEND(performance-no-int-to-ptr)

// The body of `assumeIsolated` checks the executor at its start, and can call functions that check the same executor.
// If these later checks fail as well, they are consequences of the first one.
bool cs_executor_is_consequence(uintptr_t identity, const cs_calls_call *call, const void *frame) {
  if (last.identity != identity || function_of == NULL || call->frame == last.call.frame) return false;
  const uint64_t now = cs_calls_still(frame, &last.call);
  // The address of the earlier check's frame can now belong to the frame of another function. The comparison of the two
  // functions detects this reuse.
  return now != 0 && is_of_one_function(now, last.call.pc);
}

#endif
