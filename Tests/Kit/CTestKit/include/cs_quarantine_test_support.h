// C functions for tests of the quarantine.
#ifndef CS_QUARANTINE_TEST_SUPPORT_H
#define CS_QUARANTINE_TEST_SUPPORT_H

#include <stdbool.h>

#include "cs_quarantine.h"

// crash_pointers.c: simulates a crash with `address` in register 13. Returns how many freed objects the quarantine
// publishes for the crash, and stores the first of them.
uint32_t cs_test_crash_with(uint64_t address, cs_ring_incident *ret_first);

// frames.c: captures the caller's stack twice: first by unwinding, and then from the shield's cache of that result.
// With AddressSanitizer, the caller's frame is poisoned between these two captures.
void cs_test_red_frames(cs_quarantine_stack *ret_anew, cs_quarantine_stack *ret_remembered, uint64_t *ret_caller);

// frames.c: captures the stack of a function that a tail call entered, first without and then with the frames that the
// shield adds. Returns the start of the function that made this tail call.
uint64_t cs_test_tail_call(cs_quarantine_stack *ret_stack, cs_quarantine_stack *ret_whole);

// wakes.c: installs a seccomp filter: the process then ends by SIGSYS if the calling thread wakes all waiters of a
// futex. Returns false if the kernel does not support this filter.
bool cs_test_forbid_wakes(void);

// memory_copies.c: after this call, the kernel refuses the calling thread process_vm_readv and process_vm_writev.
// Returns false if the kernel does not support this filter.
bool cs_test_refuse_memory_copies(void);

#endif
