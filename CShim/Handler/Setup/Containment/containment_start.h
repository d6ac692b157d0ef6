// Starts containment, and stores the reason if containment does not work in this process.
#ifndef CS_CONTAINMENT_START_H
#define CS_CONTAINMENT_START_H

#include "cs_ring.h"

// Stores that the process cannot contain traps. A Swift trap then begins a drain: the requests in flight finish, and
// the process ends. If the threads of containment cannot be created, there is no drain either: a trap is a crash as
// usual.
void cs_containment_refuse(cs_ring_obstacle obstacle);

// Stores that all checks have passed: the process can contain traps, unless another obstacle was found before.
void cs_containment_allow(void);

// In a forked child: switches containment off.
void cs_containment_forget(void);

#endif
