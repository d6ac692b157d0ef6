// The steps of an unwind that differ between architectures.
//
// cs_is_handler_return() returns whether the address is the code to which a signal handler returns. This code need not
// be in an image. On x86-64, the unwind tables describe this code, and the result is false.
//
// cs_leave_handler() is called if the pc is in the code to which a signal handler returns. It replaces the registers by
// those of the code that the signal interrupted. It returns false if the pc is not in this code, and always on x86-64.
// `is_bound`: whether the stack pointer is only a lower bound.
//
// cs_async_prologue_bytes() returns the offset from the start of an async function at which the function has certainly
// stored its context. Precondition: cs_prologue_is_async().
//
// cs_read_return_address() reads the return address of a call whose target has not executed an instruction.
#ifndef CS_STEPS_H
#define CS_STEPS_H

#include "steps_aarch64.h"
#include "steps_x86_64.h"

#endif
