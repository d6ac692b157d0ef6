// Registers by DWARF number, as in cs_ring_registers, and facts of this architecture.
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

// A call pushes the return address, so the caller's frame starts one word above it.
#define CS_RETURN_ADDRESS_BYTES UINT64_C(8)

void cs_registers_from_context(const ucontext_t *context, cs_ring_registers *ret_registers) SIGNAL_SAFE;

// Makes a signal handler whose context is `to` return to the context that `from` interrupted. Precondition: the
// kernel's frame of `from` is still on the stack, with its vector registers.
void cs_context_copy(const ucontext_t *from, ucontext_t *to) SIGNAL_SAFE;

// Returns whether the fault was the fetch of the instruction at pc: a jump or call to an address without code.
bool cs_registers_show_bad_fetch(const cs_ring_registers *registers) SIGNAL_SAFE;

// Returns whether the instruction at pc is the compilers' trap (x86-64: ud2).
bool cs_context_is_at_trap(const ucontext_t *context) SIGNAL_SAFE;

// Returns whether a sent signal may have interrupted the thread at a fault: the instruction at pc has faulted and not
// run since. This is the case if the fault's handler re-raised the blocked signal and returned. It is also the case at
// the first access to a page after an earlier exception, so crashd compares the instruction.
bool cs_context_shows_fault(const ucontext_t *context) SIGNAL_SAFE;

// Returns whether pc is past the instruction that stopped. A breakpoint traps after its instruction; all other faults
// trap before it.
bool cs_registers_are_past_trap(const cs_ring_registers *registers) SIGNAL_SAFE;

// Returns whether the signal interrupted a waiting system call, which then restarts or fails.
bool cs_registers_show_waiting(const cs_ring_registers *registers) SIGNAL_SAFE;

// Returns whether the signal made a system call fail with EINTR.
bool cs_context_shows_interrupted_call(const ucontext_t *context) SIGNAL_SAFE;

#endif
