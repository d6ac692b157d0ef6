// The parts of signal_frame.h that do not depend on the architecture.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "signal_frame.h"

#include <linux/futex.h>

#include "../Kernel/memory.h"
#include "../Kernel/system_call.h"

static bool is_in(const stack_t *stack, uint64_t address) SIGNAL_SAFE {
  return (stack->ss_flags & SS_DISABLE) == 0 && address - (uint64_t)(uintptr_t)stack->ss_sp < stack->ss_size;
}

bool cs_signal_frame_has_changed_stack(cs_signal_frame *frame) SIGNAL_SAFE {
  const ucontext_t *context = cs_signal_frame_context(frame);
  return is_in(&context->uc_stack, (uint64_t)(uintptr_t)frame) &&
         !is_in(&context->uc_stack, cs_signal_frame_interrupted(context));
}

bool cs_signal_frame_is_below(uint64_t frame, const stack_t *alternate, uint64_t stack_pointer) SIGNAL_SAFE {
  return is_in(alternate, stack_pointer) == is_in(alternate, frame) && stack_pointer < frame;
}

// Tests each page with a system call that makes the kernel write the signal mask there. The kernel's write makes the
// stack grow, in the same way as an access by the program.
bool cs_signal_frame_room_is_writable(uint64_t start, uint64_t end) SIGNAL_SAFE {
  for (uint64_t at = (end - 1) & ~UINT64_C(7); at >= start; at -= CS_PAGE_BYTES) {
    if (cs_system_call(SYS_rt_sigprocmask, SIG_BLOCK, 0, (long)at, CS_KERNEL_SIGNAL_SET_BYTES, 0, 0) != 0) return false;
  }
  return cs_system_call(SYS_rt_sigprocmask, SIG_BLOCK, 0, (long)((start + 7) & ~UINT64_C(7)),
                        CS_KERNEL_SIGNAL_SET_BYTES, 0, 0) == 0;
}

bool cs_signal_frame_access_works(uint64_t address, bool is_write) SIGNAL_SAFE {
  if (!is_write) return cs_memory_is_readable(address & ~UINT64_C(7));
  // This futex operation atomically ORs 0 into the word. The operation needs the same access rights as the faulting
  // write and changes nothing. No thread waits on this futex.
  uint32_t unused = 0;
  const long nothing = FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_LT, 0);
  return cs_system_call(SYS_futex, (long)&unused, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0,
                        (long)(address & ~UINT64_C(3)), nothing) != -EFAULT;
}

#endif
