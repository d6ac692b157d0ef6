// The functions of the Swift runtime whose addresses the shield determines at its start.
#ifndef CS_SWIFT_RUNTIME_H
#define CS_SWIFT_RUNTIME_H

typedef const char *volatile *cs_message_buffer(void);

// A field is NULL if the process does not have the function, or does not export it.
typedef struct cs_swift_runtime {
  cs_message_buffer *message_buffer; // swift_getFatalErrorMessageBuffer()
  const void *current_task;          // swift_task_getCurrent()
  const void *task_name;             // swift_task_getCurrentTaskName()
  const void *task_priority;         // swift_task_currentPriority()
  const void *current_executor;      // swift_task_getCurrentExecutor()
} cs_swift_runtime;

// Finds the functions at the first call, and returns the stored addresses at later calls. Precondition: only one thread
// calls this function at a time.
const cs_swift_runtime *cs_swift_runtime_find(void);

#ifdef CS_PRELOAD
// Finds the functions in the symbol table of the executable's file. This is necessary if the executable contains a
// static Swift library, because the executable then exports no functions. A stripped file has no symbol table
// (symbol_table.c).
void cs_swift_runtime_read(cs_swift_runtime *ret_runtime);
#endif

#endif
