// Hooks that other parts of the shield set: the quarantine sets the record hook, and the guard pages set the fault
// hook.
#ifndef CS_HOOKS_H
#define CS_HOOKS_H

#include <signal.h>
#include <stdbool.h>

#include "cs_ring.h"

// Lets the quarantine add its data about the crash as incidents. Precondition: the registers are recorded.
void cs_record_hook(const cs_ring_record *record) SIGNAL_SAFE;

// Lets the guard pages handle a fault that they raised on purpose. true: the thread continues at the interrupted
// instruction.
bool cs_recover_fault(int signal, const siginfo_t *information, void *context) SIGNAL_SAFE;

#endif
