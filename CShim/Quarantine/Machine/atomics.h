// Atomic operations in assembly, and memory barriers: the parts that differ between architectures.
#ifndef CS_ATOMICS_H
#define CS_ATOMICS_H

#include "atomics_aarch64.h"
#include "atomics_x86_64.h"

#endif
