// Call stacks, referred to by number. Equal stacks are stored once. A number never changes its meaning: no record can
// show the stack of another release. If the table is full, the number is 0, "unknown".
#ifndef CS_QUARANTINE_STACKS_H
#define CS_QUARANTINE_STACKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cs_quarantine.h"

#pragma GCC visibility push(hidden)

extern _Atomic uint32_t cs_stacks_are_on;
// Returns the number of the stack that equals the caller's; 0: unknown. Unwinding starts at `frame`.
uint32_t cs_stack_take(const void *frame, bool is_use);
// Returns the number of the stack of a call of an async function. It is found by the context that the function
// received, because the awaiting function is not on the stack.
uint32_t cs_stack_of_context(uint64_t context);
void cs_stack_read(uint32_t number, cs_quarantine_stack *ret_stack) SIGNAL_SAFE;
// Also adds the functions that ended with a tail call and left no frame. For output.
void cs_stack_read_whole(uint32_t number, cs_quarantine_stack *ret_stack) SIGNAL_SAFE;

#pragma GCC visibility pop

#endif
