// The functions of the Swift runtime whose addresses the shield uses at its start.
#ifndef CS_SWIFT_RUNTIME_H
#define CS_SWIFT_RUNTIME_H

typedef const char *volatile *cs_message_buffer(void);

// NULL where the process has no such function, or hides it.
typedef struct cs_swift_runtime {
  cs_message_buffer *message_buffer; // swift_getFatalErrorMessageBuffer()
  const void *current_task;          // swift_task_getCurrent()
  const void *task_name;             // swift_task_getCurrentTaskName()
  const void *task_priority;         // swift_task_currentPriority()
} cs_swift_runtime;

// Found at the first call; one thread calls it at a time.
const cs_swift_runtime *cs_swift_runtime_find(void);

#ifdef CS_PRELOAD
// Of an executable with a static Swift library, from the symbol table of its file: such an executable exports nothing.
// A stripped one has none (symbol_table.c).
void cs_swift_runtime_read(cs_swift_runtime *ret_runtime);
#endif

#endif
