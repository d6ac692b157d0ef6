#include "sweep_signal.h"

#include "../Dispatch/state.h"

static cs_kernel_action host; // the program's action of SIGPROF
static uint32_t has_signal;   // atomic: SIGPROF is ours

static bool is_ours(const cs_kernel_action *action) SIGNAL_SAFE {
  return action->handler == cs_process.sweep_action.handler;
}

bool cs_sweep_take_signal(void) SIGNAL_SAFE {
  cs_kernel_action present = {0};
  if (cs_sigaction(SIGPROF, &cs_process.sweep_action, &present) != 0) return false;
  if (!is_ours(&present)) host = present;
  __atomic_store_n(&has_signal, 1, __ATOMIC_SEQ_CST);
  return true;
}

bool cs_sweep_has_signal(void) SIGNAL_SAFE {
  return __atomic_load_n(&has_signal, __ATOMIC_SEQ_CST) != 0;
}

// Ignoring a signal drops it wherever it is pending: with the host's own action back, often to end the process, a
// thread that wakes up late must not find it.
void cs_sweep_give_signal_back(void) SIGNAL_SAFE {
  const cs_kernel_action ignored = {.handler = SIG_IGN};
  cs_kernel_action present = {0};
  if (cs_sigaction(SIGPROF, NULL, &present) != 0 || present.handler == NULL || !is_ours(&present)) return;
  __atomic_store_n(&has_signal, 0, __ATOMIC_SEQ_CST);
  cs_sigaction(SIGPROF, &ignored, NULL);
  cs_sigaction(SIGPROF, &host, NULL);
}
