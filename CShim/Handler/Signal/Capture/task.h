// Reads the Swift task that a thread runs: its ID, priority and name. The task is read from memory, because the
// runtime's functions would take the task's lock.
#ifndef CS_TASK_H
#define CS_TASK_H

#include <stdbool.h>
#include <stdint.h>

#include "cs_ring.h"

// Where this process's Swift runtime stores the current task and its parts. The shield determines the offsets at its
// start from the code of runtime functions. Only `locals_offset` is a constant, which the first request in a task
// checks.
typedef struct cs_task_layout {
  bool is_known;
  bool has_names;
  uint64_t tls_index; // address of { module, offset }; 0: the variable has a fixed offset from the thread pointer
  int64_t offset;
  bool has_executor;
  int64_t executor_offset; // of the variable with the thread's executor, like `offset`
  uint32_t locals_offset;  // of the head of the list of task-locals in a task
} cs_task_layout;

// Decodes four runtime functions. Returns whether the code of the two that the shield needs to record tasks is the
// expected one (task_layout_*.c).
bool cs_task_layout_find(cs_task_layout *ret_layout);

// Reads the task of the calling thread. Returns false if the thread runs no task, or if the runtime's layout is
// unknown.
bool cs_task_read(const cs_task_layout *layout, uint32_t *ret_id, uint32_t *ret_priority,
                  uint8_t ret_name[CS_RING_TASK_NAME_LIMIT_BYTES], uint32_t *ret_name_bytes) SIGNAL_SAFE;

typedef enum cs_task_local {
  CS_TASK_LOCAL_NO_TASK = 0, // the thread does not run a task, or the runtime's layout is unknown
  CS_TASK_LOCAL_ABSENT = 1,  // the task does not have a value for the key
  CS_TASK_LOCAL_FOUND = 2,
} cs_task_local;

// Reads a value of a task-local in the task of the calling thread. The value has the size of one word. `key` is the
// address of the task-local's object. `nth` is 0 for the current value, 1 for the value that it replaced, and so on.
// The search ends after 1,024 entries.
cs_task_local cs_task_local_read(const cs_task_layout *layout, uint64_t key, uint32_t nth,
                                 uint64_t *ret_word) SIGNAL_SAFE;

// Reads the serial executor (an actor) of the calling thread. 0: none. Returns false if the thread runs no job, or if
// the runtime's layout is unknown.
bool cs_task_executor_read(const cs_task_layout *layout, uint64_t *ret_executor) SIGNAL_SAFE;

#endif
