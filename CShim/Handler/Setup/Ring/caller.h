// The caller's thread, a thread of the shield that calls the program's callbacks. The thread that keeps the connection
// to crashd (the connection's thread) cannot call them: callbacks need the program's descriptor table, and that thread
// has a table of its own.
#ifndef CS_CALLER_H
#define CS_CALLER_H

#include "../setup.h"

// The program's callbacks. The shield never calls one that is NULL.
typedef struct cs_callbacks {
  cs_shim_status_function status;
  void *context;
  cs_shim_control_function control;
} cs_callbacks;

// Starts the thread. Does nothing if all callbacks are NULL, or if the thread of an earlier failed start still runs.
cs_shim_error cs_caller_start(const cs_callbacks *callbacks, cs_shim_failure *ret_failure);
// Starts the thread again, with the same callbacks.
cs_shim_error cs_caller_restart(cs_shim_failure *ret_failure);
// Wakes the caller's thread, and the connection's thread if it waits for the end of a call. They then notice a
// dismissal.
void cs_caller_wake(void);

// Makes the caller's thread call the status callback, and returns after the callback has returned. Returns false if the
// shield's threads were dismissed (asked to end) before the call. Precondition: only the connection's thread calls this
// function and cs_caller_apply().
bool cs_caller_report_status(cs_shim_status status, const char *text);
// Applies a control of crashd by the control callback. Returns CS_CONTROL_UNAVAILABLE if the program links no library
// of the shield that can apply it.
cs_control_result cs_caller_apply(const cs_shim_control *control, uint32_t *ret_count);

#endif
