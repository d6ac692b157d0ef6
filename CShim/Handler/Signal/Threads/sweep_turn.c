// Determines which crashing thread sweeps: the thread that claims the turn. Only one thread sweeps for each crash. If
// the process survives a crash, the next crash renews the turn, so that its thread can sweep.
//
//   free ──claim──▶ taken ──release──▶ done ──renew, by the next crash──▶ renewing ──▶ free
#include "cs_platform.h"

#if CS_SUPPORTED

#include "sweep_turn.h"

#include "../Dispatch/state.h"
#include "../Dispatch/trusted.h"
#include "cs_ring_access.h"
#include "task_list.h"

#define TURN_FREE     0u
#define TURN_TAKEN    1u
#define TURN_DONE     2u
#define TURN_RENEWING 3u

static uint32_t turn; // atomic

// Data about the threads that have left the crash handler, for example because a handler of the program receives the
// signal. Each variable is atomic.
static uint32_t is_final; // whether the signal of one of these threads certainly ends the process
static int left_tid;      // the thread that left the crash handler last
static int left_signal;

static bool change(uint32_t from, uint32_t to) SIGNAL_SAFE {
  return __atomic_compare_exchange_n(&turn, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void cs_sweep_forget_turn(void) SIGNAL_SAFE {
  __atomic_store_n(&turn, TURN_FREE, __ATOMIC_RELAXED);
  __atomic_store_n(&is_final, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&left_tid, 0, __ATOMIC_RELAXED);
}

bool cs_sweep_claim(void) SIGNAL_SAFE {
  return change(TURN_FREE, TURN_TAKEN);
}

void cs_sweep_release(void) SIGNAL_SAFE {
  change(TURN_TAKEN, TURN_DONE);
}

bool cs_sweep_has_begun(void) SIGNAL_SAFE {
  return __atomic_load_n(&turn, __ATOMIC_RELAXED) != TURN_FREE || cs_process.ring->header.survived != 0;
}

// Ordering: two sequentially consistent operations order these stores before the loads in cs_sweep_renew(). The first
// operation is in cs_watch_leave(), which follows this function. The second operation is in cs_watch_enter(), which
// precedes cs_sweep_renew().
void cs_sweep_leave(int signal, bool is_end) SIGNAL_SAFE {
  if (is_end) __atomic_store_n(&is_final, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&left_tid, cs_gettid(), __ATOMIC_RELAXED);
  __atomic_store_n(&left_signal, signal, __ATOMIC_RELAXED);
}

bool cs_sweep_is_survived(void) SIGNAL_SAFE {
  const int tid = __atomic_load_n(&left_tid, __ATOMIC_RELAXED);
  const int signal = __atomic_load_n(&left_signal, __ATOMIC_RELAXED);
  if (__atomic_load_n(&is_final, __ATOMIC_RELAXED) != 0 || tid == 0) return false;
  cs_task_status status = {0};
  cs_task_status_read(tid, &status);
  return (status.blocked_signals & UINT64_C(1) << (signal - 1)) == 0;
}

// Returns whether the program has continued after the previous crash. If the program's handler of that crash is still
// running, the result is false, because it can end the process, or can be crashing now. The test is whether the thread
// that left the crash handler last blocks its signal: the kernel blocks a handler's signal while the handler runs,
// unless it was installed with SA_NODEFER.
static bool is_survived(const ucontext_t *context) SIGNAL_SAFE {
  const int tid = __atomic_load_n(&left_tid, __ATOMIC_RELAXED);
  if (tid != cs_gettid()) return cs_sweep_is_survived();
  const int signal = __atomic_load_n(&left_signal, __ATOMIC_RELAXED);
  if (__atomic_load_n(&is_final, __ATOMIC_RELAXED) != 0) return false;
  // Reads the signal mask of the interrupted code, because the current mask is that of our handler.
  uint64_t mask = 0;
  memcpy(&mask, &context->uc_sigmask, sizeof mask);
  return (mask & UINT64_C(1) << (signal - 1)) == 0;
}

// Concurrency: another thread that crashes at the same time can call cs_sweep_claim() before this thread has renewed
// the turn. It finds the turn done and does not sweep.
void cs_sweep_renew(const ucontext_t *context) SIGNAL_SAFE {
  cs_ring_header *header = &cs_process.ring->header;
  if (!is_survived(context) || !change(TURN_DONE, TURN_RENEWING)) return;
  // First clears the data about the previous sweep, which a reader would attribute to the new crash. Then stores the
  // number of the new crash in `survived`, which publishes the change.
  __atomic_store_n(&header->thread_count, 0, __ATOMIC_RELEASE);
  __atomic_store_n(&header->thread_total, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&header->sweep, CS_RING_SWEEP_NONE, __ATOMIC_RELAXED);
  __atomic_store_n(&header->sweep_ns, 0, __ATOMIC_RELAXED);
  // Each crash increments the counter slot_head, even if it gets no slot, so the counter is a different number for each
  // crash.
  __atomic_store_n(&header->survived, (uint32_t)cs_ring_counter(&header->slot_head), __ATOMIC_RELEASE);
  change(TURN_RENEWING, TURN_FREE);
}

static cs_kernel_action host; // the action for SIGPROF that the program installed
static uint32_t has_signal;   // atomic: whether our SIGPROF handler is installed

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

// First sets SIG_IGN, because the kernel then drops all pending SIGPROF. Otherwise, a pending SIGPROF could take effect
// after the program's action is restored, which is often the default action: it ends the process.
void cs_sweep_give_signal_back(void) SIGNAL_SAFE {
  const cs_kernel_action ignored = {.handler = SIG_IGN};
  cs_kernel_action present = {0};
  if (cs_sigaction(SIGPROF, NULL, &present) != 0 || present.handler == NULL || !is_ours(&present)) return;
  __atomic_store_n(&has_signal, 0, __ATOMIC_SEQ_CST);
  cs_sigaction(SIGPROF, &ignored, NULL);
  cs_sigaction(SIGPROF, &host, NULL);
}

#endif
