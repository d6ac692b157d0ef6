// The threads of this process, read from /proc.
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

// Where the stack pointer is of a thread that sleeps. Negative: it does not (-EAGAIN), is gone (-ENOENT), or cannot be
// seen.
long cs_task_stack_pointer(int tid, uint64_t *ret_stack_pointer) SIGNAL_SAFE;

// Leaves `ret_status` as it is when the thread is gone.
void cs_task_status_read(int tid, cs_task_status *ret_status) SIGNAL_SAFE;

// What the kernel says of a thread in fewer words: two thirds of the time. Signals up to 31 only.
typedef struct cs_task_wait {
  uint32_t blocked_signals;
  uint32_t run_state;
} cs_task_wait;

// false: the thread is gone, or the file cannot be read.
bool cs_task_wait_read(int tid, cs_task_wait *ret_wait) SIGNAL_SAFE;

// The system call that a thread waits in.
typedef struct cs_task_call {
  uint64_t number; // UINT64_MAX: none
  uint64_t first_argument;
} cs_task_call;

// false: the kernel does not say, as of a process that may not be dumped.
bool cs_task_call_read(int tid, cs_task_call *ret_call) SIGNAL_SAFE;

// Whether the kernel function that a thread waits in has `part` in its name; readable also of a process that may not be
// dumped. false: no, or the kernel does not say.
bool cs_task_waits_in(int tid, const char *part) SIGNAL_SAFE;

#endif
