// Stacks by number: equal ones are stored once, and a number never changes its meaning, so that no record shows the
// stack of another release. If the table is full, the number is 0, "unknown".
#ifndef CS_QUARANTINE_STACKS_H
#define CS_QUARANTINE_STACKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cs_quarantine.h"

#pragma GCC visibility push(hidden)

extern _Atomic uint32_t cs_stacks_are_on;
// The number of a stack that reads the same as the caller's; 0: none. `frame` is where the walk begins.
uint32_t cs_stack_take(const void *frame, bool is_use);
// The same of a call of an async function, by the context that it was given: the function that awaits it is not on the
// stack.
uint32_t cs_stack_of_context(uint64_t context);
void cs_stack_read(uint32_t number, cs_quarantine_stack *ret_stack) SIGNAL_SAFE;
// With the functions that tail calls left without a frame: for what is shown.
void cs_stack_read_whole(uint32_t number, cs_quarantine_stack *ret_stack) SIGNAL_SAFE;

#pragma GCC visibility pop

#endif
