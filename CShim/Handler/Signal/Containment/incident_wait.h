// Wakes the thread of this process that reads the incidents of the ring, for Shield.incidents.
#ifndef CS_INCIDENT_WAIT_H
#define CS_INCIDENT_WAIT_H

#include <stdint.h>

#include "cs_signal_safe.h"

// Says that an incident stands in the ring. Concurrency: any thread, handlers too.
void cs_incident_note(void) SIGNAL_SAFE;

// Sleeps until the number of recorded incidents is not `seen`, and returns it. Precondition: one thread calls it.
uint32_t cs_incident_wait(uint32_t seen);

#endif
