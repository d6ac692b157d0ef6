// Reads the list of this process's threads, and their states, from /proc.
#ifndef CS_TASK_LIST_H
#define CS_TASK_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cs_signal_safe.h"

// The position in the list of threads. The list is read in pieces. The structure is too large for the stack of a
// handler.
typedef struct cs_task_list {
  int directory; // negative: the list of threads cannot be read
  size_t at;
  size_t size;
  _Alignas(8) uint8_t entries[4096];
} cs_task_list;

void cs_task_list_open(cs_task_list *list) SIGNAL_SAFE;
// Returns the next thread ID, or 0 at the end of the list.
int cs_task_list_next(cs_task_list *list) SIGNAL_SAFE;
void cs_task_list_close(cs_task_list *list) SIGNAL_SAFE;

// The state of a thread, from the thread's file `status` in /proc.
typedef struct cs_task_status {
  uint64_t blocked_signals;
  uint64_t pending_signals;
  uint32_t run_state; // R, S, D, …; 0: unknown
  uint8_t name[16];
} cs_task_status;

// Reads the stack pointer of a sleeping thread. Returns a negative value if the thread is not sleeping (-EAGAIN), has
// ended (-ENOENT), or cannot be read.
long cs_task_stack_pointer(int tid, uint64_t *ret_stack_pointer) SIGNAL_SAFE;

// Reads the thread's status. Leaves `ret_status` unchanged if the thread has ended.
void cs_task_status_read(int tid, cs_task_status *ret_status) SIGNAL_SAFE;

// A part of a thread's status, from the file `stat`. Reading this part takes a third less time than reading the whole
// status. The part contains only the signals up to 31.
typedef struct cs_task_wait {
  uint32_t blocked_signals;
  uint32_t run_state;
} cs_task_wait;

// Returns false if the thread has ended, or if its file cannot be read.
bool cs_task_wait_read(int tid, cs_task_wait *ret_wait) SIGNAL_SAFE;

// The system call in which a thread waits.
typedef struct cs_task_call {
  uint64_t number; // UINT64_MAX: the thread does not wait in a system call
  uint64_t arguments[4];
} cs_task_call;

// Returns false if the kernel does not show the system call, for example because it would not write a core dump of the
// process for its user.
bool cs_task_call_read(int tid, cs_task_call *ret_call) SIGNAL_SAFE;

// Returns whether a thread waits in a kernel function whose name contains `part`. This also works if the kernel would
// not write a core dump of the process for its user. Returns false if the kernel does not show the function's name.
bool cs_task_waits_in(int tid, const char *part) SIGNAL_SAFE;

#endif
