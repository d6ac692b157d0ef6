// The steps of an unwind that differ between architectures.
//
// cs_address_unsigned() removes the signature from a return address that is read from memory. Only AArch64 signs return
// addresses.
// cs_leave_handler() replaces the registers of the code to which a signal handler returns by those of the interrupted
// code. Returns false if the pc is not in such code. On x86-64, the unwind tables describe this code.
// cs_read_return_address() reads the return address of a call whose target has not executed an instruction.
#ifndef CS_STEPS_H
#define CS_STEPS_H

#include "steps_aarch64.h"
#include "steps_x86_64.h"

#endif
