// What tests of the quarantine need in C.
#ifndef CS_QUARANTINE_TEST_SUPPORT_H
#define CS_QUARANTINE_TEST_SUPPORT_H

#include <stdbool.h>

#include "cs_quarantine.h"

// crash_pointers.c: how many objects the quarantine publishes of a crash whose register 13 has that address, and the
// first of them.
uint32_t cs_test_crash_with(uint64_t address, cs_ring_incident *ret_first);

// frames.c: the stack of its caller, taken twice from the same frames: once anew, once as it is remembered. Where
// AddressSanitizer is on, the caller's frame is poisoned meanwhile.
void cs_test_red_frames(cs_quarantine_stack *ret_anew, cs_quarantine_stack *ret_remembered, uint64_t *ret_caller);

// frames.c: the stack of a function that another one has jumped to, as it is and with what is put in. Returns the begin
// of the other one.
uint64_t cs_test_tail_call(cs_quarantine_stack *ret_stack, cs_quarantine_stack *ret_whole);

// wakes.c: from now on the process ends by SIGSYS where the calling thread wakes all that sleep on a word. false: the
// kernel has no such filter.
bool cs_test_forbid_wakes(void);

#endif
