// Determines whether a fault was caused by a read, by a write, or by the fetch of an instruction: from the processor's
// exception syndrome (ESR), or from the instruction itself if the kernel does not pass the syndrome to the signal
// handler.
#ifndef CS_ACCESS_AARCH64_H
#define CS_ACCESS_AARCH64_H
#if defined(__aarch64__)

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "../../Handler/Signal/Capture/fault_aarch64.h"
#include "../../Handler/Signal/Capture/registers.h"
#include "../../Handler/Signal/Kernel/memory.h"
#include "access_of_code_aarch64.h"
#include "cs_signal_safe.h"

static inline bool cs_access_is_fetch(const ucontext_t *context) SIGNAL_SAFE {
  cs_ring_registers registers;
  cs_registers_from_context(context, &registers);
  if (registers.error_code != 0) return cs_syndrome_class(registers.error_code) == CS_SYNDROME_FETCH;
  return context->uc_mcontext.fault_address == context->uc_mcontext.pc;
}

static inline bool cs_access_is_write(const ucontext_t *context) SIGNAL_SAFE {
  cs_ring_registers registers;
  uint32_t code = 0;
  cs_registers_from_context(context, &registers);
  if (cs_access_is_fetch(context)) return false;
  if (registers.error_code != 0) return (registers.error_code & CS_SYNDROME_WRITE) != 0;
  return cs_memory_copy(&code, context->uc_mcontext.pc, sizeof code) == sizeof code && cs_access_code_writes(code);
}

#endif
#endif
