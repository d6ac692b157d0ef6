// Moves descriptors to numbers that programs usually do not use, and separates the descriptor table of a thread from
// the program's table.
#ifndef CS_DESCRIPTORS_H
#define CS_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>

#include "cs_signal_safe.h"

// Gives the calling thread its own copy of the process's descriptor table. After that, other threads cannot change this
// thread's descriptors. Returns false, and the thread still shares the program's table, if both system calls that do
// this fail: close_range, which exists since Linux 5.9, and unshare, which a seccomp filter can forbid. Precondition:
// after this call, the thread runs no code of the program, except code that ends the process. If the process continues
// after all, the thread closes the descriptors of its own table.
bool cs_descriptors_separate(void) SIGNAL_SAFE;

// Like cs_descriptors_separate(), but the new table contains only the descriptors in `kept`. Negative numbers in `kept`
// are ignored. Requires Linux 5.9.
bool cs_descriptors_separate_keeping(const int *kept, size_t count) SIGNAL_SAFE;

// Moves the descriptor to a number that is higher than those that programs usually use, and closes `number`. Returns
// `number` itself if it is negative or if no higher number is free.
int cs_descriptor_raise(int number) SIGNAL_SAFE;

#endif
