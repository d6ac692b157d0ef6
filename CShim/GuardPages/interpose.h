// The interface between malloc's own code and the rest.
#ifndef CS_INTERPOSE_H
#define CS_INTERPOSE_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

// Whether malloc and its kin are defined in this build at all.
extern const bool cs_pages_interposes;
// The malloc of this library, whatever the symbol resolves to.
extern void *cs_pages_own_malloc(unsigned long size);
// The malloc that it forwards to; NULL until it is looked up.
void *cs_pages_next_malloc(void);
// Looks it up before the first call of malloc.
void cs_pages_resolve(void);

// should_sample.c: whether an allocation of a sampled size gets a slot: one in cs_page_one_in.
bool cs_page_should_sample(void);

#pragma GCC visibility pop

#endif
