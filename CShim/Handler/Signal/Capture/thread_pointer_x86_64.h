// Where the thread's own variables are found from. The compiler's way to them is not known to be safe in a handler.
#ifndef CS_THREAD_POINTER_X86_64_H
#define CS_THREAD_POINTER_X86_64_H
#if defined(__x86_64__)

#include <stdint.h>

#include "cs_signal_safe.h"

static inline uint64_t cs_thread_pointer(void) SIGNAL_SAFE {
  uint64_t pointer;
  __asm__("movq %%fs:0, %0" : "=r"(pointer));
  return pointer;
}

#endif
#endif
