// Accesses registers by their DWARF numbers, as in cs_ring_registers, and defines properties of this architecture.
#ifndef CS_REGISTERS_H
#define CS_REGISTERS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "../Kernel/memory.h"
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
// The addresses of user memory are below 1 << CS_ADDRESS_BITS.
#define CS_ADDRESS_BITS 47
// A call pushes the return address (8 bytes), so the stack pointer of the caller is one word above the return address.
#define CS_RETURN_ADDRESS_BYTES UINT64_C(8)
// The signal and the code of the trap instruction that compilers generate: ud2.
#define CS_TRAP_SIGNAL SIGILL
#define CS_TRAP_CODE   ILL_ILLOPN
// Whether the result of a system call (such as EINTR) overwrites the register of its first argument.
#define CS_EINTR_LOSES_ARGUMENT false
#elif defined(__aarch64__)
#define CS_REGISTER_COUNT         33
#define CS_REGISTER_PC            32
#define CS_REGISTER_STACK_POINTER 31
#define CS_REGISTER_LINK          30
#define CS_REGISTER_FRAME_POINTER 29
#define CS_REGISTER_ASYNC_CONTEXT 22
#define CS_RED_ZONE_BYTES         UINT64_C(0)
#define CS_RING_ARCHITECTURE_HERE CS_RING_ARCHITECTURE_AARCH64
#define CS_ADDRESS_BITS           48
// A call pushes nothing. It stores the return address in the register x30, the link register.
#define CS_RETURN_ADDRESS_BYTES   UINT64_C(0)
// brk #1. The pc stays at this instruction.
#define CS_TRAP_SIGNAL            SIGTRAP
#define CS_TRAP_CODE              TRAP_BRKPT

#define CS_EINTR_LOSES_ARGUMENT true
#endif

// Whether a function that calls no other function (a leaf function) can leave the stack pointer unchanged, because a
// call does not push a return address. It then has no frame.
#define CS_LEAF_HAS_NO_FRAME (CS_RETURN_ADDRESS_BYTES == 0)

// Returns whether the address can belong to user memory, whose addresses have `bits` bits. The first page is never
// mapped.
static inline bool cs_is_user_address(uint64_t address, unsigned bits) SIGNAL_SAFE {
  return address >= CS_PAGE_BYTES && address >> bits == 0;
}

// The DWARF numbers of the registers in the order in which memory near their addresses is recorded. On AArch64, a
// record has space for fewer ranges than there are registers: the register of Swift's self comes first, then the
// arguments and the callee-saved registers. The link register, whose address is code, and the stack pointer are
// omitted.
extern const uint8_t cs_memory_order[];
extern const uint32_t cs_memory_order_count;

void cs_registers_from_context(const ucontext_t *context, cs_ring_registers *ret_registers) SIGNAL_SAFE;

// Returns whether the registers of the context are in readable memory.
bool cs_context_is_readable(const ucontext_t *context) SIGNAL_SAFE;

// Copies the context `from` to `to`. A signal handler to which the kernel passed `to` then returns to the code that the
// signal of `from` interrupted. Precondition: the kernel's signal frame of `from` is still on the stack and contains
// the vector registers.
void cs_context_copy(const ucontext_t *from, ucontext_t *to) SIGNAL_SAFE;

// Sets the pc back to the breakpoint or the system call that caused the signal, so that the thread executes it again.
// Leaves the context unchanged if the pc is not past such an instruction.
void cs_context_repeat(int signal, ucontext_t *context) SIGNAL_SAFE;

// Returns whether the fault was an instruction fetch at the pc: the thread jumped to an address without code.
bool cs_registers_show_bad_fetch(const cs_ring_registers *registers) SIGNAL_SAFE;

// Returns whether the instruction at the pc is the trap instruction that compilers generate (x86-64: ud2; AArch64:
// brk #1).
bool cs_context_is_at_trap(const ucontext_t *context) SIGNAL_SAFE;

// Returns whether the kernel fills the error code, the trap number and the fault address when it sends this signal
// itself. On AArch64, the values can otherwise belong to an earlier fault of the thread.
bool cs_registers_belong_to(int signal, int code) SIGNAL_SAFE;

// Given the context of a signal that was sent and not caused by a fault: returns whether the instruction at the pc has
// faulted, and the thread has executed no instruction since. This occurs if a handler of the fault raised the signal
// again while it was blocked: it stays pending until the handler returns to the faulting instruction. The result can
// also be true if the last fault was a page fault that the kernel resolved. crashd therefore also checks the
// instruction.
bool cs_context_shows_fault(const ucontext_t *context) SIGNAL_SAFE;

// Returns whether the pc is past the instruction that caused the signal, as for a breakpoint. For all other faults, the
// pc is the address of the faulting instruction. On AArch64, the result is always false.
bool cs_registers_are_past_trap(const cs_ring_registers *registers) SIGNAL_SAFE;

// Returns whether the signal interrupted a blocking system call, which the kernel then restarts or ends with an error.
bool cs_registers_show_waiting(const cs_ring_registers *registers) SIGNAL_SAFE;

// Returns whether the signal interrupted the system call `number` while the call waited, and stores the first arguments
// of the call. On x86-64, if the call failed with EINTR, its number is lost, and the function returns true for any
// number.
#define CS_CALL_ARGUMENT_COUNT 4
bool cs_context_shows_call(const ucontext_t *context, long number,
                           uint64_t ret_arguments[CS_CALL_ARGUMENT_COUNT]) SIGNAL_SAFE;

// Returns whether the signal made a system call fail with EINTR.
bool cs_context_shows_interrupted_call(const ucontext_t *context) SIGNAL_SAFE;

#endif
