// Wakes the thread of this process that reads the incidents of the ring, for Shield.incidents.
#ifndef CS_INCIDENT_WAIT_H
#define CS_INCIDENT_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "cs_ring.h"
#include "cs_signal_safe.h"

// Whether the incident is a detail of a crash, which wakes crashd itself.
bool cs_incident_is_of_crash(const cs_ring_incident *incident) SIGNAL_SAFE;

// Says that an incident stands in the ring. Concurrency: any thread, handlers too.
void cs_incident_note(void) SIGNAL_SAFE;

// Sleeps until the number of recorded incidents is not `seen`, and returns it. Precondition: one thread calls it.
uint32_t cs_incident_wait(uint32_t seen);

#endif
