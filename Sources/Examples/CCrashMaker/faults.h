// What the files of faults share.
#ifndef CS_FAULTS_PRIVATE_H
#define CS_FAULTS_PRIVATE_H

#include "cs_faults.h"

// A fault keeps a frame of its own, with the name that tests expect on top of the stack.
#define FAULT __attribute__((noinline))

// A pointer that no optimizer can know.
static inline void *opaque_pointer(uint64_t address) {
  return (void *)(uintptr_t)cs_opaque((int64_t)address);
}

#endif
