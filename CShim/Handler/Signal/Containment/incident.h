// What the shield's own parts saw happen, from within the handler.
#ifndef CS_INCIDENT_H
#define CS_INCIDENT_H

#include <stdbool.h>

#include "cs_ring.h"

// As cs_shim_incident(), and says whether the ring has it: false before the start, and where there is no room, which is
// counted.
bool cs_incident_keep(const cs_ring_incident *incident) SIGNAL_SAFE;

#endif
