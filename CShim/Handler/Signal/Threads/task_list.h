// Reads the list of this process's threads, and their states, from /proc.
#ifndef CS_TASK_LIST_H
#define CS_TASK_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cs_signal_safe.h"

// The position in the list of threads, which is read in pieces. The structure is too large for the stack of a handler.
typedef struct cs_task_list {
  int directory; // negative: the list cannot be read
  size_t at;
  size_t size;
  _Alignas(8) uint8_t entries[4096];
} cs_task_list;

void cs_task_list_open(cs_task_list *list) SIGNAL_SAFE;
// Returns the next thread ID, or 0 at the end of the list.
int cs_task_list_next(cs_task_list *list) SIGNAL_SAFE;
void cs_task_list_close(cs_task_list *list) SIGNAL_SAFE;

// The kernel's status of a thread.
typedef struct cs_task_status {
  uint64_t blocked_signals;
  uint64_t pending_signals;
  uint32_t run_state; // R, S, D, …; 0: unknown
  uint8_t name[16];
} cs_task_status;

// Reads the stack pointer of a sleeping thread. Returns a negative value if the thread is not sleeping (-EAGAIN), has
// ended (-ENOENT), or cannot be read.
long cs_task_stack_pointer(int tid, uint64_t *ret_stack_pointer) SIGNAL_SAFE;

// Leaves `ret_status` unchanged if the thread has ended.
void cs_task_status_read(int tid, cs_task_status *ret_status) SIGNAL_SAFE;

// A part of a thread's status. Reading it takes a third less time than reading the whole status. It contains only the
// signals up to 31.
typedef struct cs_task_wait {
  uint32_t blocked_signals;
  uint32_t run_state;
} cs_task_wait;

// Returns false if the thread has ended, or if the file cannot be read.
bool cs_task_wait_read(int tid, cs_task_wait *ret_wait) SIGNAL_SAFE;

// The system call in which a thread waits.
typedef struct cs_task_call {
  uint64_t number; // UINT64_MAX: none
  uint64_t first_argument;
} cs_task_call;

// Returns false if the kernel does not show the call. This is so, for example, if the kernel would not write a core
// dump of the process for its user.
bool cs_task_call_read(int tid, cs_task_call *ret_call) SIGNAL_SAFE;

// Returns whether a thread waits in a kernel function whose name contains `part`. This also works if the kernel would
// not write a core dump of the process. Returns false if the kernel does not show the name.
bool cs_task_waits_in(int tid, const char *part) SIGNAL_SAFE;

#endif
