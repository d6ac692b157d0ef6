// Whose executor runs: a question to the Swift runtime, which a program may have in another version, or not at all.
#include <stddef.h>

#include "cs_guards.h"

// With these flags it must not end the process: the standard library's `Task.immediate` relies on that, in code that is
// compiled into programs (`flagsMustNotCrash`).
#define MUST_NOT_CRASH UINT64_C(0)

__attribute__((weak, swiftcall)) bool swift_task_isCurrentExecutorWithFlags(uintptr_t identity,
                                                                            uintptr_t implementation, uint64_t flags);

bool cs_guard_has_executor_query(void) {
  return swift_task_isCurrentExecutorWithFlags != NULL;
}

bool cs_guard_is_current_executor(uintptr_t identity, uintptr_t implementation) {
  return swift_task_isCurrentExecutorWithFlags(identity, implementation, MUST_NOT_CRASH);
}
