// Wakes the thread of this process that reads the ring's incidents for Shield.incidents.
#ifndef CS_INCIDENT_WAIT_H
#define CS_INCIDENT_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "cs_ring.h"
#include "cs_signal_safe.h"

// Returns whether the incident is part of a crash report. Such an incident is not announced: the delivery of the crash
// wakes crashd anyway.
bool cs_incident_is_of_crash(const cs_ring_incident *incident) SIGNAL_SAFE;

// Announces that the ring has a new incident. Concurrency: any thread may call this function, also in a signal handler.
void cs_incident_note(void) SIGNAL_SAFE;

// Sleeps until the number of recorded incidents differs from `seen`. Returns the new number. Precondition: only one
// thread calls this function.
uint32_t cs_incident_wait(uint32_t seen);

#endif
