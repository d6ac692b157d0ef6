// For tests and crash-maker only: the states of the capture that no ordinary crash leaves behind.
#ifndef CS_TESTING_H
#define CS_TESTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Claims a slot of the ring, writes half a record and returns: what a kill -9 in the middle of a capture leaves. false
// when not started.
bool cs_testing_claim_and_abandon(void);

// From now on the handler itself crashes, once it has recorded the registers.
void cs_testing_crash_in_handler(void);

// Walks the caller's stack with the handler's unwinder. Returns how many of `limit` program counters it wrote; the
// first is in the caller.
size_t cs_testing_unwind_here(uint64_t *ret_pcs, size_t limit);

// Runs the reader of call frame information on `size` bytes that stand for an image whose .eh_frame_hdr is at
// `header_offset`, with the pc at `pc_offset`. true when it found rules that can be applied.
bool cs_testing_read_frame_information(const void *bytes, size_t size, size_t header_offset, uint64_t pc_offset);

// The ring of this process, and its descriptor; NULL and -1 when not started.
const void *cs_testing_ring(void);
int cs_testing_ring_descriptor(void);

#endif
