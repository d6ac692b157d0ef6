// The threads of this process, as /proc tells.
#ifndef CS_TASK_LIST_H
#define CS_TASK_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cs_signal_safe.h"

// Reads the list piece by piece. Big, hence not on a handler's stack.
typedef struct cs_task_list {
  int directory; // negative: cannot be read
  size_t at;
  size_t size;
  _Alignas(8) uint8_t entries[4096];
} cs_task_list;

void cs_task_list_open(cs_task_list *list) SIGNAL_SAFE;
// The next thread; 0 at the end.
int cs_task_list_next(cs_task_list *list) SIGNAL_SAFE;
void cs_task_list_close(cs_task_list *list) SIGNAL_SAFE;

// What the kernel says of a thread.
typedef struct cs_task_status {
  uint64_t blocked_signals;
  uint64_t pending_signals;
  uint32_t run_state; // R, S, D, …; 0 when unknown
  uint8_t name[16];
} cs_task_status;

// Leaves `ret_status` as it is when the thread is gone.
void cs_task_status_read(int tid, cs_task_status *ret_status) SIGNAL_SAFE;

#endif
