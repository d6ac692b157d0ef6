// Queries the Swift runtime for the current executor and the current task. The runtime's functions are declared weak,
// because a program can have a runtime without these functions, or no runtime.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <stddef.h>

#include "cs_guards.h"

// With these flags, swift_task_isCurrentExecutorWithFlags() returns false instead of ending the process. The standard
// library's `Task.immediate` passes the same flags (`flagsMustNotCrash`) and is inlined into programs. Later runtimes
// must therefore continue to support them, for programs that are already compiled.
#define MUST_NOT_CRASH UINT64_C(0)

__attribute__((weak, swiftcall)) bool swift_task_isCurrentExecutorWithFlags(uintptr_t identity,
                                                                            uintptr_t implementation, uint64_t flags);

__attribute__((weak, swiftcall)) void *swift_task_getCurrent(void);
// A task begins with its job, so the task and the job have the same address.
__attribute__((weak, swiftcall)) uint64_t swift_task_getJobTaskId(void *job);

uint64_t cs_guard_task(void) {
  if (swift_task_getCurrent == NULL || swift_task_getJobTaskId == NULL) return 0;
  void *const task = swift_task_getCurrent();
  return task == NULL ? 0 : swift_task_getJobTaskId(task);
}

bool cs_guard_has_executor_query(void) {
  return swift_task_isCurrentExecutorWithFlags != NULL;
}

bool cs_guard_is_current_executor(uintptr_t identity, uintptr_t implementation) {
  return swift_task_isCurrentExecutorWithFlags(identity, implementation, MUST_NOT_CRASH);
}

#else

#include "cs_guards.h"

uint64_t cs_guard_task(void) {
  return 0;
}

bool cs_guard_has_executor_query(void) {
  return false;
}

bool cs_guard_is_current_executor(uintptr_t identity, uintptr_t implementation) {
  (void)identity;
  (void)implementation;
  return false;
}

#endif
