// Determines from the processor's error code whether a fault was caused by a read, by a write, or by the fetch of an
// instruction.
#ifndef CS_ACCESS_X86_64_H
#define CS_ACCESS_X86_64_H
#if defined(__x86_64__)

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "cs_signal_safe.h"

// Bits of the error code of a page fault.
#define CS_ACCESS_WRITE UINT64_C(2)
#define CS_ACCESS_FETCH UINT64_C(16)

static inline bool cs_access_is_write(const ucontext_t *context) SIGNAL_SAFE {
  return ((uint64_t)context->uc_mcontext.gregs[REG_ERR] & CS_ACCESS_WRITE) != 0;
}

static inline bool cs_access_is_fetch(const ucontext_t *context) SIGNAL_SAFE {
  return ((uint64_t)context->uc_mcontext.gregs[REG_ERR] & CS_ACCESS_FETCH) != 0;
}

#endif
#endif
