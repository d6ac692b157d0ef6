// The caller's thread, which calls the program's callbacks. The connection's thread cannot call them, because callbacks
// need the program's descriptor table. The connection's thread has a descriptor table of its own.
#ifndef CS_CALLER_H
#define CS_CALLER_H

#include "../setup.h"

// The shield never calls a callback that is NULL.
typedef struct cs_callbacks {
  cs_shim_status_function status;
  void *context;
  cs_shim_control_function control;
} cs_callbacks;

// Starts the thread. Does nothing if all callbacks are NULL, or if the thread of an earlier failed start still runs.
cs_shim_error cs_caller_start(const cs_callbacks *callbacks, cs_shim_failure *ret_failure);
// Starts the thread again, with the same callbacks.
cs_shim_error cs_caller_restart(cs_shim_failure *ret_failure);
// Wakes the caller's thread, and the connection's thread if it waits for a call. Does not request a call of a callback.
void cs_caller_wake(void);

// Precondition: only the connection's thread calls this function and cs_caller_apply(). Each of the two functions
// returns after the callback has returned. This function returns false if the threads were dismissed (asked to end)
// before the callback was called.
bool cs_caller_report_status(cs_shim_status status, const char *text);
// Returns CS_CONTROL_UNAVAILABLE if the program links no library that can apply the control.
cs_control_result cs_caller_apply(const cs_shim_control *control, uint32_t *ret_count);

#endif
