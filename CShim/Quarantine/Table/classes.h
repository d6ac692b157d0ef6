// The table of classes that are or were listed (class.h). A class is never removed.
#ifndef CS_QUARANTINE_CLASSES_H
#define CS_QUARANTINE_CLASSES_H

#include "class.h"

#pragma GCC visibility push(hidden)

extern cs_class *cs_classes[CS_QUARANTINE_CLASSES]; // a release store follows each new entry; entries are never removed
uint32_t cs_class_count(void) SIGNAL_SAFE;

// Returns the class with this metadata, or NULL if the class was never listed.
cs_class *cs_class_of_metadata(const void *metadata);
bool cs_is_zombie(const void *metadata);

// Adds a class to the table. Precondition: the caller holds the lock of class_table.c, and the table has a free entry.
void cs_classes_add(cs_class *class);

// Disables the fast path of last releases of the class. Called after a change of the budget or of the class: the next
// last release takes the slow path, which determines again how many slots the class can have.
void cs_class_close(cs_class *class);

// Returns whether this is a forked child of a process that had listed classes.
bool cs_quarantine_is_forked(void);
// Marks this process as a forked child of a process that had listed classes.
void cs_classes_forget(void);

#pragma GCC visibility pop

#endif
