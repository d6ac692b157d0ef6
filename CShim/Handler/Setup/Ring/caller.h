// The caller's thread, which calls the program's callbacks. The connection's thread cannot call them, because callbacks
// need the program's descriptor table and the connection's thread has its own.
#ifndef CS_CALLER_H
#define CS_CALLER_H

#include "../setup.h"

// A callback that is NULL is never called.
typedef struct cs_callbacks {
  cs_shim_status_function status;
  void *context;
  cs_shim_control_function control;
} cs_callbacks;

// Starts the thread. Does nothing if all callbacks are NULL, or if a failed start has left the thread running.
cs_shim_error cs_caller_start(const cs_callbacks *callbacks, cs_shim_failure *ret_failure);
// Starts the thread again, with the same callbacks.
cs_shim_error cs_caller_restart(cs_shim_failure *ret_failure);
// Wakes the caller's thread and the connection's thread that waits for it. Makes no call.
void cs_caller_wake(void);

// Precondition: the caller of these two functions is the connection's thread. Each function returns after the callback
// has returned. The result false means that the threads are dismissed and the callback was not called.
bool cs_caller_report_status(cs_shim_status status, const char *text);
// Returns CS_CONTROL_UNAVAILABLE if no library in this process can apply the control.
cs_control_result cs_caller_apply(const cs_shim_control *control, uint32_t *ret_count);

#endif
