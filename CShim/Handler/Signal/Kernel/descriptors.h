// Descriptor numbers that the program does not use, and descriptor tables that are not shared with the program.
#ifndef CS_DESCRIPTORS_H
#define CS_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>

#include "cs_signal_safe.h"

// Gives the calling thread a copy of the descriptor table, so that no other thread can change its descriptors. Returns
// false if the kernel is older than Linux 5.9 and a filter forbids unshare(2). The table is then still the program's.
// Precondition: the thread afterwards runs no code of the program, except code that ends the process. If the process
// outlives the thread's task, the thread closes its copy.
bool cs_descriptors_separate(void) SIGNAL_SAFE;

// Like cs_descriptors_separate(), but the new table holds only `kept`. Negative numbers are ignored. Requires Linux
// 5.9.
bool cs_descriptors_separate_keeping(const int *kept, size_t count) SIGNAL_SAFE;

// Moves the descriptor to a number above those that programs expect, and closes `number`. Returns `number` itself if it
// is negative or if no higher number is free.
int cs_descriptor_raise(int number) SIGNAL_SAFE;

#endif
