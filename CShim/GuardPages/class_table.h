// The table of classes whose objects get guard pages. Precondition of each function: the caller holds the lock of
// setup.c.
#ifndef CS_PAGES_CLASS_TABLE_H
#define CS_PAGES_CLASS_TABLE_H

#include "Signal/pages.h"

#pragma GCC visibility push(hidden)

// Returns the entry of the class, or NULL if the class was never listed.
cs_page_class *cs_page_class_find(const void *metadata);

// Adds a class to the table. Objects of the class are sampled only after cs_page_class_list(). Returns NULL if the
// table is full.
cs_page_class *cs_page_class_enter(const void *metadata, uint32_t bytes, const char *name, uint32_t name_bytes);

void cs_page_class_list(cs_page_class *class, cs_mode policy);

// Stops the sampling of the class's objects. Precondition: the class is in the table and listed.
void cs_page_class_unlist(cs_page_class *class);

#pragma GCC visibility pop

#endif
