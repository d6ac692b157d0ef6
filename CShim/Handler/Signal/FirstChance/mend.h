// Faults that are no crash: a part of the shield made them happen, and mends them.
#ifndef CS_MEND_H
#define CS_MEND_H

#include <signal.h>
#include <stdbool.h>

#include "cs_signal_safe.h"

// true: the thread goes on where it was.
bool cs_mend(int signal, const siginfo_t *information, void *context) SIGNAL_SAFE;

#endif
