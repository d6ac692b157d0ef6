// The thread that calls the program's callbacks. The thread of the connection cannot call them, because it has its own
// descriptor table and a callback needs the program's.
#ifndef CS_CALLER_H
#define CS_CALLER_H

#include "../setup.h"

// A callback that is NULL is never called.
typedef struct cs_callbacks {
  cs_shim_status_function status;
  void *context;
  cs_shim_control_function control;
} cs_callbacks;

// Starts the thread, unless all callbacks are NULL, or a failed start has left a thread running.
cs_shim_error cs_caller_start(const cs_callbacks *callbacks, cs_shim_failure *ret_failure);
// Starts the thread again, with the same callbacks.
cs_shim_error cs_caller_restart(cs_shim_failure *ret_failure);
// Wakes the thread and the thread that waits for it, without a call.
void cs_caller_wake(void);

// Precondition: the caller is the thread of the connection. Each function returns when the callback has returned.
// false: the threads are dismissed, and the callback was not called.
bool cs_caller_report_status(cs_shim_status status, const char *text);
// Returns CS_CONTROL_UNAVAILABLE if no library in this process can apply the control.
cs_control_result cs_caller_apply(const cs_shim_control *control, uint32_t *ret_count);

#endif
