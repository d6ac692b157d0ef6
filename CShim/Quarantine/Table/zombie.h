// The copy of a class's metadata that its objects in quarantine point at: its methods lead to stubs, and the class
// itself is its superclass, so that casts still find it.
#ifndef CS_QUARANTINE_ZOMBIE_H
#define CS_QUARANTINE_ZOMBIE_H

#include "class.h"

#pragma GCC visibility push(hidden)

// Makes the copy. Precondition: the lock of class_table.c. false: no memory.
bool cs_zombie_make(cs_class *class);

// The class that a zombie was made for. Precondition: cs_is_zombie().
cs_class *cs_class_of_zombie(const cs_metadata *zombie);

#pragma GCC visibility pop

#endif
