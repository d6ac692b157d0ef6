// SIGPROF while the other threads are asked or halted: ours, and then the program's again.
#ifndef CS_SWEEP_SIGNAL_H
#define CS_SWEEP_SIGNAL_H

#include <stdbool.h>

#include "cs_signal_safe.h"

// Makes SIGPROF ours. false: refused.
bool cs_sweep_take_signal(void) SIGNAL_SAFE;
bool cs_sweep_has_signal(void) SIGNAL_SAFE;

// Puts the program's action back. Idempotent.
void cs_sweep_give_signal_back(void) SIGNAL_SAFE;

#endif
