// The ring's bytes in a spool file.
#ifndef CS_SPOOL_RING_H
#define CS_SPOOL_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cs_signal_safe.h"

// Writes bytes at an offset. false: the file does not take them.
bool cs_spool_put(int file, const void *bytes, size_t size, uint64_t offset) SIGNAL_SAFE;

// Writes the ring; what was never used stays a hole. false: the file takes no more.
bool cs_spool_put_ring(int file) SIGNAL_SAFE;

// The same for a file whose owner must not know what the process knew (docs/decisions/0122): which program crashed, by
// which signal, and its frames as offsets in images. No memory, no registers, no texts, and no address: each image is
// moved to a place of its own. Precondition: one thread at a time.
bool cs_spool_put_bare_ring(int file) SIGNAL_SAFE;

#endif
