// A table of call stacks, which are identified by numbers. Equal stacks are stored once. The stack with a number never
// changes. The number in a release record therefore never refers to the stack of another release. If the table is full,
// the result is the number 0, which means "unknown".
#ifndef CS_QUARANTINE_STACKS_H
#define CS_QUARANTINE_STACKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cs_quarantine.h"

#pragma GCC visibility push(hidden)

extern _Atomic uint32_t cs_stacks_are_on;
// Returns the number of the caller's stack, or 0 if it is unknown. The unwind begins at `frame`.
uint32_t cs_stack_take(const void *frame, bool is_use);
// Returns the number of the stack of a call to an async function. Follows the context that the function received,
// because the awaiting function is not on the stack.
uint32_t cs_stack_of_context(uint64_t context);
void cs_stack_read(uint32_t number, cs_quarantine_stack *ret_stack) SIGNAL_SAFE;
// Like cs_stack_read(), but also adds functions that ended with a tail call and therefore left no frame. Used for
// output.
void cs_stack_read_whole(uint32_t number, cs_quarantine_stack *ret_stack) SIGNAL_SAFE;

#pragma GCC visibility pop

#endif
