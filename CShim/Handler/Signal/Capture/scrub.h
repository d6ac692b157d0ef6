// Takes texts out of copies of the program's memory, and leaves what tells of a crash.
#ifndef CS_SCRUB_H
#define CS_SCRUB_H

#include <stddef.h>
#include <stdint.h>

#include "cs_ring.h"

// Overwrites each run of text in `bytes`, a copy of memory that was aligned to eight bytes, `size` a multiple of eight.
// Words that a register holds, and addresses, stay: a frame pointer may read like text.
void cs_scrub(uint8_t *bytes, size_t size, const cs_ring_registers *registers) SIGNAL_SAFE;

#endif
