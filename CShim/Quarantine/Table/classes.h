// The classes that are or were listed, by their index. A class is never freed.
#ifndef CS_QUARANTINE_CLASSES_H
#define CS_QUARANTINE_CLASSES_H

#include "class.h"

#pragma GCC visibility push(hidden)

extern cs_class *cs_classes[CS_QUARANTINE_CLASSES]; // entries are added by release stores, and never removed
uint32_t cs_class_count(void) SIGNAL_SAFE;

// Returns NULL if the class was never listed.
cs_class *cs_class_of_metadata(const void *metadata);
bool cs_is_zombie(const void *metadata);

// Precondition: the caller holds the lock of class_table.c, and the table has room.
void cs_classes_add(cs_class *class);

// Disables the fast path: the next release checks for room, because the budget or the class has changed.
void cs_class_close(cs_class *class);

// Whether this is a forked child of a process with listed classes.
bool cs_quarantine_is_forked(void);
// Marks this process as such a forked child.
void cs_classes_forget(void);

#pragma GCC visibility pop

#endif
