// Faults that are no crash: a part of the shield made them happen, and mends them.
#ifndef CS_RECOVERABLE_FAULT_H
#define CS_RECOVERABLE_FAULT_H

#include <signal.h>
#include <stdbool.h>

#include "cs_signal_safe.h"

// true: the thread goes on where it was.
bool cs_recover_fault(int signal, const siginfo_t *information, void *context) SIGNAL_SAFE;

#endif
