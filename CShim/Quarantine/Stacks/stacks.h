// A table of call stacks. Each stack is identified by a number. Equal stacks are stored only once. The stack that
// belongs to a number never changes. The number in a release record therefore never refers to the stack of another
// release. If the table is full, a new stack gets the number 0, which means "unknown".
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
// Returns the number of the stack of a call to an async function, as cs_stack_take() does for other functions. Follows
// the context that the function received, because the awaiting function is not on the stack.
uint32_t cs_stack_of_context(uint64_t context);
void cs_stack_read(uint32_t number, cs_quarantine_stack *ret_stack) SIGNAL_SAFE;
// Like cs_stack_read(), but also adds functions that ended with a tail call and therefore left no frame. The function
// is used when stacks are published, and not when they are recorded.
void cs_stack_read_whole(uint32_t number, cs_quarantine_stack *ret_stack) SIGNAL_SAFE;

#pragma GCC visibility pop

#endif
