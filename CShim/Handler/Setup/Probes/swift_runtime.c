// Finds the functions of the Swift runtime.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "swift_runtime.h"

#include <stdbool.h>
#include <stddef.h>

// Returns the address of the runtime's variable that points to the fatal error messages. Swift 6.3 has this function;
// older versions can lack it.
extern const char *volatile *swift_getFatalErrorMessageBuffer(void) __attribute__((weak));
extern void *swift_task_getCurrent(void) __attribute__((weak));
extern void *swift_task_getCurrentTaskName(void) __attribute__((weak));
extern void *swift_task_currentPriority(void *task) __attribute__((weak));
extern void swift_task_getCurrentExecutor(void) __attribute__((weak));

const cs_swift_runtime *cs_swift_runtime_find(void) {
  static cs_swift_runtime runtime;
  static bool is_found;
  if (is_found) return &runtime;
  is_found = true;
  runtime = (cs_swift_runtime){
      .message_buffer = swift_getFatalErrorMessageBuffer,
      .current_task = (const void *)swift_task_getCurrent,
      .task_name = (const void *)swift_task_getCurrentTaskName,
      .task_priority = (const void *)swift_task_currentPriority,
      .current_executor = (const void *)swift_task_getCurrentExecutor,
  };
#ifdef CS_PRELOAD
  if (runtime.message_buffer == NULL) cs_swift_runtime_read(&runtime);
#endif
  return &runtime;
}

#endif
