// Where the program asks for a check, and which checks are consequences of another.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <dlfcn.h>
#include <stddef.h>

#include "executor_checks.h"

// Frames from a hook's own to the runtime's function whose caller asks directly.
#define DIRECT 1

static cs_calls_range runtime;
// libgcc_s's: where the function begins that an address is of. NULL: it is not there.
static const void *(*function_of)(const void *address);

// The last check of this thread that failed and was made to pass.
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

// `preconditionIsolated` and its like are functions of the runtime's: where the program calls one is the place. But
// `assumeIsolated` is compiled into the program, once for many calls, as is the check at the begin of a function that
// the compiler puts there: so who called such a function belongs to the place.
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

// The body of `assumeIsolated` has a check at its own begin, and may call functions that have. That they fail, too, is
// nothing new.
bool cs_executor_is_consequence(uintptr_t identity, const cs_calls_call *call, const void *frame) {
  if (last.identity != identity || function_of == NULL || call->frame == last.call.frame) return false;
  const uint64_t now = cs_calls_still(frame, &last.call);
  // Another function may have come to stand where the one of the check has stood.
  return now != 0 && is_of_one_function(now, last.call.pc);
}

#endif
