// The functions of the Swift runtime whose addresses the shield reads at its start.
#ifndef CS_SWIFT_RUNTIME_H
#define CS_SWIFT_RUNTIME_H

typedef const char *volatile *cs_message_buffer(void);

// A field is NULL if the process has no such function or hides it.
typedef struct cs_swift_runtime {
  cs_message_buffer *message_buffer; // swift_getFatalErrorMessageBuffer()
  const void *current_task;          // swift_task_getCurrent()
  const void *task_name;             // swift_task_getCurrentTaskName()
  const void *task_priority;         // swift_task_currentPriority()
} cs_swift_runtime;

// The first call finds the functions. Precondition: one caller at a time.
const cs_swift_runtime *cs_swift_runtime_find(void);

#ifdef CS_PRELOAD
// Reads the functions from the symbol table of the executable's file, for an executable with a static Swift library:
// such an executable exports no functions. A stripped file has no symbol table (symbol_table.c).
void cs_swift_runtime_read(cs_swift_runtime *ret_runtime);
#endif

#endif
