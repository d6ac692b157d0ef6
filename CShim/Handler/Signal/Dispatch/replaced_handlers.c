#include "cs_platform.h"

#if CS_SUPPORTED

#include "replaced_handlers.h"

#include "../FirstChance/signal_frame.h"
#include "../Images/images.h"
#include "cs_shim.h"

static const int crash_signals[CS_CRASH_SIGNAL_COUNT] = CS_CRASH_SIGNALS;

static void note(cs_ring_handler *entry, int signal, uint32_t state, uint64_t address) SIGNAL_SAFE {
  __atomic_store_n(&entry->signal, signal, __ATOMIC_RELAXED);
  __atomic_store_n(&entry->address, address, __ATOMIC_RELAXED);
  __atomic_store_n(&entry->state, state, __ATOMIC_RELAXED);
}

// Concurrency: several threads may call this function at the same time, because each of them stores the actions that it
// has just read.
void cs_replaced_handlers_note(void) SIGNAL_SAFE {
  cs_ring *ring = cs_process.ring;
  for (int index = 0; index < CS_CRASH_SIGNAL_COUNT; index++) {
    const int signal = crash_signals[index];
    cs_kernel_action present = {0};
    if (cs_sigaction(signal, NULL, &present) != 0) continue;
    // `given_back` must be loaded after the signal's action was read. Otherwise, the shield could restore the previous
    // action between the two reads, and our handler would be reported as replaced.
    const uint64_t given_back = __atomic_load_n(&cs_process.given_back, __ATOMIC_SEQ_CST);
    if ((given_back & UINT64_C(1) << signal) != 0) continue;
    const uintptr_t handler = (uintptr_t)present.handler;
    cs_ring_handler *entry = &ring->header.handlers[index];
    if (handler == (uintptr_t)cs_handler) {
      note(entry, signal, CS_RING_HANDLER_OURS, 0);
    } else if (handler == (uintptr_t)SIG_DFL) {
      note(entry, signal, CS_RING_HANDLER_DEFAULT, 0);
    } else if (handler == (uintptr_t)SIG_IGN) {
      note(entry, signal, CS_RING_HANDLER_IGNORED, 0);
    } else {
      note(entry, signal, CS_RING_HANDLER_REPLACED, handler);
      cs_image_index(handler); // has a side effect for crashd: adds the handler's image to the ring if it was loaded
                               // after the shield's start
    }
  }
}

bool cs_handler_is_replaced(int signal) SIGNAL_SAFE {
  cs_kernel_action present = {0};
  if (cs_sigaction(signal, NULL, &present) != 0) return true;
  const uintptr_t handler = (uintptr_t)present.handler;
  if (handler == (uintptr_t)cs_handler) return false;
  // `given_back` must be loaded after the signal's action was read, as in cs_replaced_handlers_note(). If the signal
  // has no handler although the shield has not restored the previous action, either the program has removed our
  // handler, or a handler with SA_RESETHAND is running and has called ours.
  const uint64_t given_back = __atomic_load_n(&cs_process.given_back, __ATOMIC_SEQ_CST);
  const bool is_without = handler == (uintptr_t)SIG_DFL || handler == (uintptr_t)SIG_IGN;
  return !is_without || (given_back & UINT64_C(1) << signal) == 0;
}

void cs_replaced_handler_give_back(int signal) SIGNAL_SAFE {
  __atomic_fetch_or(&cs_process.given_back, UINT64_C(1) << signal, __ATOMIC_SEQ_CST);
}

bool cs_shim_handles_faults(void) SIGNAL_SAFE {
  cs_kernel_action present = {0};
  return cs_sigaction(SIGSEGV, NULL, &present) == 0 && (uintptr_t)present.handler == (uintptr_t)cs_handler;
}

#endif
