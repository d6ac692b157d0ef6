// Registers by DWARF number, as cs_ring_registers holds them, and what only this architecture knows.
#ifndef CS_REGISTERS_H
#define CS_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "cs_callees.h"
#include "cs_ring.h"

#if defined(__x86_64__)
#define CS_REGISTER_COUNT         17
#define CS_REGISTER_PC            16
#define CS_REGISTER_STACK_POINTER 7
#define CS_REGISTER_FRAME_POINTER 6
#define CS_REGISTER_ASYNC_CONTEXT 14
#define CS_RED_ZONE_BYTES         UINT64_C(128)
#define CS_RING_ARCHITECTURE_HERE CS_RING_ARCHITECTURE_X86_64
#endif

// A call pushes the return address: the frame of a caller starts one word above.
#define CS_RETURN_ADDRESS_BYTES UINT64_C(8)

void cs_registers_from_context(const ucontext_t *context, cs_ring_registers *ret_registers) SIGNAL_SAFE;

// Makes a signal handler that was called with `to` return to where `from` was interrupted. The kernel's frame of `from`
// must still stand on the stack: its vector registers are there.
void cs_context_copy(const ucontext_t *from, ucontext_t *to) SIGNAL_SAFE;

// Whether the fault was the fetch of the instruction at pc: a jump or call went where no code is.
bool cs_registers_show_bad_fetch(const cs_ring_registers *registers) SIGNAL_SAFE;

// Whether the instruction at pc is the one that compilers put where a program must not come (x86-64: ud2).
bool cs_context_is_at_trap(const ucontext_t *context) SIGNAL_SAFE;

// Whether a signal that was sent may have found the thread at a fault: the instruction at pc has faulted and not run
// since. True when the fault's handler re-raised the blocked signal and returned; but also where a page was touched for
// the first time, and the exception is an earlier one's: crashd compares the instruction.
bool cs_context_shows_fault(const ucontext_t *context) SIGNAL_SAFE;

// Whether pc has moved past the instruction that stopped: a breakpoint traps after it, everything else before.
bool cs_registers_are_past_trap(const cs_ring_registers *registers) SIGNAL_SAFE;

// Whether the signal found the thread in a system call that waits: it is to be made again, or has been given up.
bool cs_registers_show_waiting(const cs_ring_registers *registers) SIGNAL_SAFE;

// Whether the signal has made a system call fail that it interrupted: the program is about to see EINTR.
bool cs_context_shows_interrupted_call(const ucontext_t *context) SIGNAL_SAFE;

#endif
