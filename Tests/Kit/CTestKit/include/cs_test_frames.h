// Stacks whose frames are not what a sanitizer takes for readable.
#ifndef CS_TEST_FRAMES_H
#define CS_TEST_FRAMES_H

#include "cs_quarantine.h"

// The stack of its caller, taken twice from the same frames: once anew, once as it is remembered. Where
// AddressSanitizer is on, the caller's frame is red meanwhile.
void cs_test_red_frames(cs_quarantine_stack *ret_anew, cs_quarantine_stack *ret_remembered, uint64_t *ret_caller);

// The stack of a function that another one has jumped to, as it is and with what is put in. Returns the begin of the
// other one.
uint64_t cs_test_tail_call(cs_quarantine_stack *ret_stack, cs_quarantine_stack *ret_whole);

#endif
