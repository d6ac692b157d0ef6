// Numbers that the program does not use, and tables that it does not share.
#ifndef CS_DESCRIPTORS_H
#define CS_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>

#include "cs_signal_safe.h"

// Gives the calling thread a copy of the descriptor table: no other thread changes what its numbers stand for. false:
// the kernel is older than Linux 5.9 and a filter forbids unshare(2), so the table stays the program's.
// Precondition: the thread runs no code of the program's afterwards, except what ends the process; one that the process
// outlives closes its copy.
bool cs_descriptors_separate(void) SIGNAL_SAFE;

// The same, with a table that holds `kept` and nothing else; those below 0 are none. Linux 5.9.
bool cs_descriptors_separate_keeping(const int *kept, size_t count) SIGNAL_SAFE;

// Moves the descriptor to a number above those that programs expect, and closes `number`. Returns `number` itself where
// there is no room above, and what is below 0.
int cs_descriptor_raise(int number) SIGNAL_SAFE;

#endif
