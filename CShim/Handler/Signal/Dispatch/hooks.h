// Hooks that other parts of the shield set: the quarantine's for a record, and that of guard pages for a fault.
#ifndef CS_HOOKS_H
#define CS_HOOKS_H

#include <signal.h>
#include <stdbool.h>

#include "cs_ring.h"

// Lets the quarantine add what it knows of the crash, as incidents. Precondition: the registers are recorded.
void cs_record_hook(const cs_ring_record *record) SIGNAL_SAFE;

// A recoverable fault: guard pages raise it on purpose, and fix it up. true: the thread goes on where it was.
bool cs_recover_fault(int signal, const siginfo_t *information, void *context) SIGNAL_SAFE;

#endif
