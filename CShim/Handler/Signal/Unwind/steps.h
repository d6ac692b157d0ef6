// The steps of an unwind that differ between architectures.
//
// cs_is_handler_return() returns whether the address is the code to which a signal handler returns. This code need not
// be in an image (executable or shared library). On x86-64, the result is always false, because the unwind tables
// describe this code.
//
// cs_leave_handler() checks whether the pc is in the code to which a signal handler returns. If it is, the function
// replaces the registers by those of the code that the signal interrupted, and returns true. On x86-64, it always
// returns false. `is_bound`: whether the stack pointer is only a lower bound.
//
// cs_async_prologue_bytes() returns the offset from the start of an async function at which the function has certainly
// stored its context. Precondition: cs_prologue_is_async().
//
// cs_read_return_address() reads the return address of a call whose target has not yet executed an instruction.
#ifndef CS_STEPS_H
#define CS_STEPS_H

#include "steps_aarch64.h"
#include "steps_x86_64.h"

#endif
