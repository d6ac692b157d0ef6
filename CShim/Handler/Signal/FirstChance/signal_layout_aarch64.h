// The layout of the kernel's signal frame on AArch64. The frame is at the stack pointer with which a handler starts,
// and with which it returns.
#ifndef CS_SIGNAL_LAYOUT_AARCH64_H
#define CS_SIGNAL_LAYOUT_AARCH64_H
#if defined(__aarch64__)

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "cs_signal_safe.h"

typedef struct cs_signal_frame {
  siginfo_t information;
  ucontext_t context;
} cs_signal_frame;

// The offset of x0, after which x1 to x30, sp and pc follow.
#define CS_SIGNAL_FRAME_REGISTERS (offsetof(cs_signal_frame, context) + offsetof(ucontext_t, uc_mcontext.regs))

// Returns whether the shield makes handlers of the program return to `pc`.
bool cs_signal_frame_is_restorer(uint64_t pc) SIGNAL_SAFE;

#endif
#endif
