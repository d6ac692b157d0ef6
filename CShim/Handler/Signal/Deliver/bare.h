// Copies parts of the ring for a spool file whose reader must not see the process's data (docs/decisions/0122). The
// copies contain no memory, registers, messages or addresses. Each image gets an artificial base address.
#ifndef CS_BARE_H
#define CS_BARE_H

#include <stdint.h>

#include "cs_ring.h"
#include "cs_signal_safe.h"

void cs_bare_header(cs_ring_header *ret_header) SIGNAL_SAFE;

// Precondition: `index` is an index of an image in the ring.
void cs_bare_image(uint32_t index, cs_ring_image *ret_image) SIGNAL_SAFE;

void cs_bare_record(const cs_ring_record *record, cs_ring_record *ret_record) SIGNAL_SAFE;

#endif
