// A table of call stacks. Each stack has a number, and equal stacks are stored only once. Entries are never changed or
// removed, so a number always refers to the same stack. If the table is full, a new stack gets the number 0, which
// means "unknown".
#ifndef CS_QUARANTINE_STACKS_H
#define CS_QUARANTINE_STACKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cs_quarantine.h"

#pragma GCC visibility push(hidden)

extern _Atomic uint32_t cs_stacks_are_on;
// Returns the number of the caller's stack, or 0 if the stack cannot be stored. The unwind begins at `frame`.
uint32_t cs_stack_take(const void *frame, bool is_use);
// Like cs_stack_take(), but for a call to an async function: follows the AsyncContext that the function received,
// because the awaiting function is not on the stack.
uint32_t cs_stack_of_context(uint64_t context);
void cs_stack_read(uint32_t number, cs_quarantine_stack *ret_stack) SIGNAL_SAFE;
// Like cs_stack_read(), but also adds functions that ended with a tail call and therefore left no frame. Used when a
// stack is published, because it takes longer than the recording may take.
void cs_stack_read_whole(uint32_t number, cs_quarantine_stack *ret_stack) SIGNAL_SAFE;

#pragma GCC visibility pop

#endif
