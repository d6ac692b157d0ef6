// Hooks the executor checks of Swift's concurrency runtime, in order to record a failing check before it ends the
// process. The hooks are installed when this code is loaded, if a test shows that they work in this process.
#ifndef CS_EXECUTOR_CHECKS_H
#define CS_EXECUTOR_CHECKS_H

#include <stdbool.h>
#include <stdint.h>

// The reason why failing checks are not recorded.
typedef enum cs_executor_obstacle : uint32_t {
  CS_EXECUTOR_WORKS = 0,
  CS_EXECUTOR_NO_HOOKS = 1,   // the runtime has no hooks, or there is no runtime
  CS_EXECUTOR_NOT_CALLED = 2, // the runtime does not call its hooks
  CS_EXECUTOR_OLD_CHECKS = 3, // the runtime uses the checks from before Swift 6, which do not call the hooks
  CS_EXECUTOR_UNTOLD = 4,     // this code cannot distinguish calls that end the process from other calls
  CS_EXECUTOR_NO_PLACE = 5,   // this code cannot find the program's call into the runtime
  CS_EXECUTOR_REPLACED = 6,   // another library has replaced the hooks
} __attribute__((enum_extensibility(open))) cs_executor_obstacle;

// Returns the result of the test that ran when this code was loaded. If the test succeeded, also checks whether the
// hooks are still installed.
cs_executor_obstacle cs_executor_status(void);

// The library that links this code defines this function. The hook calls it for a failing check, on the thread that
// makes the check, and holds no lock during the call. Returns true to let the check pass.
// - type: the type of the executor, or of an actor without a custom executor.
// - is_main: whether the executor is the main actor's.
// - place: a number for the call site; 0: unknown.
// - is_consequence: whether this check follows from an earlier check of this executor that failed and was let pass: the
//   function that made the earlier check is still running and led to this check.
__attribute__((weak)) bool cs_executor_met(const void *type, bool is_main, uint64_t place, bool is_consequence);

#endif
