// The declarations that the files of this target share.
#ifndef CH_HOST_INTERNAL_H
#define CH_HOST_INTERNAL_H

#include "ch_host.h"

#include "cs_ring.h"
#include <sys/types.h>

// The descriptors that the supervisor passes to the program.
#define CH_SUPERVISOR_FILE 3
#define CH_COUNTERS_FILE   4

bool ch_counters_map(int file);

// Maps the ring of a running process. Returns NULL if the process does not have a ring.
const cs_ring *ch_ring_of(pid_t pid);
// Prints the members of the JSON object that come from the ring.
void ch_print_ring(const cs_ring *ring);

#endif
