// Handles a trap in contained work (Shield.isolated): the trap stops the work's thread forever, and the process
// continues. The budget is the maximum number of threads that may be stopped in this way.
//
// clang-format off
// | situation                                          | what happens                                                |
// |----------------------------------------------------|-------------------------------------------------------------|
// | A trap in the work, within the budget              | The ring gets an incident, the thread that waits for the    |
// |                                                    | work continues, and this thread stops forever.              |
// | The budget of stopped threads is used up.          | A crash, whose record has the flag CS_RING_RECORD_BUDGET.   |
// | Another signal arrives, or a forked child traps.   | A crash as usual.                                           |
// | The stack contains libc, the loader or Dispatch.   | A crash, because the thread may hold one of their locks.    |
// | A lazy global is being initialized.                | A crash, because other threads would wait forever for the   |
// |                                                    | global.                                                     |
// | The stack contains Swift's concurrency library.    | A crash, because the thread may hold a task's lock, for     |
// |                                                    | example during a cancellation.                              |
// | The work holds a lock of the shield or of a        | A crash. For example, `print` locks stdout, and exit()      |
// | stream.                                            | needs this lock.                                            |
// | The unwind does not reach the start of the work.   | A crash, because some frames on the stack are unknown.      |
// | Another handler has replaced ours.                 | A crash, because that handler has called ours and may hold  |
// |                                                    | a lock.                                                     |
// | The ring has no free entry for the incident.       | A crash, because every trap needs a report.                 |
// | The thread faults while it writes the incident.    | The trap repeats, and then is a crash.                      |
// | Other threads crash at the same time.              | They and this thread do not wait for each other.            |
// clang-format on
//
// A thread whose trap is contained does not take part in the coordination of crashing threads (crasher.h, sweep.h,
// watch.h). To crashing threads, a thread that a trap has stopped looks like a thread that sleeps.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "containment.h"

#include "../Capture/registers.h"
#include "../Capture/registers_here.h"
#include "../Dispatch/state.h"
#include "../Dispatch/trusted.h"
#include "cs_shim.h"

#include <linux/futex.h>

// The maximum number of attempts to change the number of stopped threads with a compare-and-exchange. An attempt fails
// if another thread changes the number at the same time.
#define COUNT_TRIES 1000

// The signal with which glibc's setuid() makes every thread change its user. It has no public name.
#define GLIBC_SETXID 33

cs_contained_layout cs_contained_here;
uint32_t cs_contained_budget = CS_SHIM_CONTAINED_BUDGET;
uint32_t cs_contained_parked;

void cs_contained_forget(void) SIGNAL_SAFE {
  __atomic_store_n(&cs_contained_parked, 0, __ATOMIC_RELAXED);
}

static cs_contained *work_here(void) SIGNAL_SAFE {
  // acquire: pairs with the release store of the setup. The setup writes the other fields of cs_contained_here before
  // this store.
  const int64_t offset = __atomic_load_n(&cs_contained_here.offset, __ATOMIC_ACQUIRE);
  if (offset == 0) return NULL;
  return *(cs_contained **)(uintptr_t)(cs_thread_pointer() + (uint64_t)offset);
}

static bool take_place(void) SIGNAL_SAFE {
  uint32_t seen = __atomic_load_n(&cs_contained_parked, __ATOMIC_RELAXED);
  for (int attempt = 0; attempt < COUNT_TRIES; attempt++) {
    if (seen >= __atomic_load_n(&cs_contained_budget, __ATOMIC_RELAXED)) return false;
    if (__atomic_compare_exchange_n(&cs_contained_parked, &seen, seen + 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      return true;
  }
  return false;
}

static void give_place_back(void) SIGNAL_SAFE {
  __atomic_fetch_sub(&cs_contained_parked, 1, __ATOMIC_RELAXED);
}

// If our handler is not installed, another handler has replaced ours and has called it. That handler can hold a lock,
// so the trap is not contained.
bool cs_contained_is_direct(int signal) SIGNAL_SAFE {
  cs_kernel_action present = {0};
  return cs_sigaction(signal, NULL, &present) == 0 && present.handler == cs_process.own.handler;
}

static bool record(cs_contained *work) SIGNAL_SAFE {
  cs_ring_registers registers;
  uint32_t count = 0;
  memset(&registers, 0, sizeof registers);
  cs_registers_from_context(work->context, &registers);
  const uint32_t own = cs_contained_way_of_trap(work, &registers, &count);
  return own != 0 && cs_contained_record(CS_RING_CONTAINED_TRAP, 0, &registers, work->frames, own, count, NULL);
}

// Blocks all signals, so that other threads receive the signals that are sent to the process. The only exception is
// setuid()'s signal, because setuid() waits for every thread. pthread_cancel()'s signal is blocked too: a cancellation
// would release the resources of this thread.
void cs_contained_block_signals(void) SIGNAL_SAFE {
  const uint64_t mask = ~(UINT64_C(1) << (GLIBC_SETXID - 1));
  cs_sigmask(SIG_SETMASK, &mask);
}

// Wakes the thread that waits for the work, and stops this thread forever. The stack and the resources of this thread
// are never released.
_Noreturn static void park(cs_contained *work) SIGNAL_SAFE {
  cs_contained_block_signals();
  // release: pairs with the acquire load of cs_shim_contained_run().
  __atomic_store_n(&work->end, CS_SHIM_CONTAINED_TRAPPED, __ATOMIC_RELEASE);
  cs_system_call(SYS_futex, (long)&work->end, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, 0, 0, 0);
  // No thread wakes this futex, so the loop repeats only after a spurious wake-up. If a seccomp filter refused futex,
  // the loop would spin, but under such a filter, programs do not work at all.
  for (;;)
    cs_system_call(SYS_futex, (long)&work->end, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, CS_SHIM_CONTAINED_TRAPPED, 0, 0, 0);
}

bool cs_contained_is_trap(int signal, const siginfo_t *information, const ucontext_t *context) SIGNAL_SAFE {
  return signal == CS_TRAP_SIGNAL && information->si_code == CS_TRAP_CODE && cs_context_is_at_trap(context);
}

static bool is_trap_of(const cs_contained *work, int signal, const siginfo_t *information,
                       const ucontext_t *context) SIGNAL_SAFE {
  return work->stage == CS_CONTAINED_RUNS && cs_contained_is_trap(signal, information, context) &&
         __atomic_load_n(&work->holds, __ATOMIC_RELAXED) == 0 && cs_contained_is_direct(signal);
}

bool cs_contained_is_over_budget(void) SIGNAL_SAFE {
  const cs_contained *const work = work_here();
  return work != NULL && work->stage == CS_CONTAINED_UNPAID;
}

bool cs_containment_takes(int signal, const siginfo_t *information, ucontext_t *context) SIGNAL_SAFE {
  cs_contained *const work = work_here();
  if (work == NULL || work->pid != cs_getpid()) return false;
  if (work->stage == CS_CONTAINED_RECORDS && information->si_code > 0) {
    work->stage = CS_CONTAINED_REFUSED;
    give_place_back();
    cs_context_copy(work->context, context);
    return true;
  }
  if (!is_trap_of(work, signal, information, context)) return false;
  if (!take_place()) {
    work->stage = CS_CONTAINED_UNPAID;
    return false;
  }
  work->context = context;
  work->stage = CS_CONTAINED_RECORDS;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  const bool is_recorded = record(work);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  work->stage = is_recorded ? CS_CONTAINED_PARKED : CS_CONTAINED_REFUSED;
  if (is_recorded) park(work);
  give_place_back();
  return false;
}

#endif
