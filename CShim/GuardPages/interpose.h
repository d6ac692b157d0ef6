// The interface between malloc (interpose.c) and the rest of this library.
#ifndef CS_INTERPOSE_H
#define CS_INTERPOSE_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

// Whether this build defines malloc and related functions.
extern const bool cs_pages_interposes;
// This library's own malloc, even if the symbol `malloc` resolves to another library's malloc.
extern void *cs_pages_own_malloc(unsigned long size);
// The malloc that this library forwards to; NULL until cs_pages_resolve has found it.
void *cs_pages_next_malloc(void);
// Finds the next allocator. The first call of malloc, or a constructor, calls this function.
void cs_pages_resolve(void);

// should_sample.c: returns whether an allocation of a sampled size gets a slot. On average, the result is true for one
// of cs_page_one_in calls.
bool cs_page_should_sample(void);

#pragma GCC visibility pop

#endif
