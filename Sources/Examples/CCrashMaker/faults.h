// Definitions for all files faults_*.c.
#ifndef CS_FAULTS_PRIVATE_H
#define CS_FAULTS_PRIVATE_H

#include "cs_faults.h"

// Prevents inlining, so that the fault has its own frame with the name that tests expect.
#define FAULT __attribute__((noinline))

// Returns a pointer whose value the optimizer cannot compute.
static inline void *opaque_pointer(uint64_t address) {
  return (void *)(uintptr_t)cs_opaque((int64_t)address);
}

#endif
