// Hooks for other components of the shield: the quarantine, which detects uses of freed objects, sets the record hook;
// the guard pages set the fault hook.
#ifndef CS_HOOKS_H
#define CS_HOOKS_H

#include <signal.h>
#include <stdbool.h>

#include "cs_ring.h"

// Calls the record hook. With this hook, the quarantine adds its data about the crash to the ring, as incidents.
// Precondition: the registers are recorded.
void cs_record_hook(const cs_ring_record *record) SIGNAL_SAFE;

// Calls the fault hook, with which the guard pages handle faults on their own pages. Returns true if the thread must
// continue at the interrupted instruction.
bool cs_recover_fault(int signal, const siginfo_t *information, void *context) SIGNAL_SAFE;

#endif
