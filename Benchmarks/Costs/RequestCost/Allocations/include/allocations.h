// Counts the calling thread's allocations.
#ifndef ALLOCATIONS_H
#define ALLOCATIONS_H

unsigned long allocation_count(void);

#endif
