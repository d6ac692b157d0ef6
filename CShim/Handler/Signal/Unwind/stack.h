// Short walks of a stack, for what goes on afterwards: an incident, an allocation.
#ifndef CS_STACK_H
#define CS_STACK_H

#include "cs_signal_safe.h"

// In a forked child: the working memories that other threads of its parent had.
void cs_stack_forget(void) SIGNAL_SAFE;

#endif
