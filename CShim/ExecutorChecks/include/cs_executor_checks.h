// Hooks the executor checks of Swift's concurrency runtime: a failing check is recorded before it ends the process. The
// hooks are installed when this code is loaded, if they work in this process.
#ifndef CS_EXECUTOR_CHECKS_H
#define CS_EXECUTOR_CHECKS_H

#include <stdbool.h>
#include <stdint.h>

// Why failing checks are not recorded.
typedef enum cs_executor_obstacle : uint32_t {
  CS_EXECUTOR_WORKS = 0,
  CS_EXECUTOR_NO_HOOKS = 1,   // the runtime has none, or there is no runtime
  CS_EXECUTOR_NOT_CALLED = 2, // it does not call them
  CS_EXECUTOR_OLD_CHECKS = 3, // its checks are those before Swift 6, which do not ask them
  CS_EXECUTOR_UNTOLD = 4,     // a check that may fail looks like one that may not
  CS_EXECUTOR_NO_PLACE = 5,   // where the program calls the runtime cannot be found
  CS_EXECUTOR_REPLACED = 6,   // another library has set the hooks since
} __attribute__((enum_extensibility(open))) cs_executor_obstacle;

// The result of the test at the start, and whether the hooks are still installed.
cs_executor_obstacle cs_executor_status(void);

// Called for a failing check, on the thread that made it, without a lock. The library that links this code defines it.
// type: of the executor, or of an actor without an executor of its own. is_main: whether it is the main actor's. place:
// a number for the call site; 0: unknown. is_consequence: an earlier check of this executor failed and passed, and the
// function that made it still runs and led to this check. Returns whether the check passes.
__attribute__((weak)) bool cs_executor_met(const void *type, bool is_main, uint64_t place, bool is_consequence);

#endif
