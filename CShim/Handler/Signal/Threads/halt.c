// Halts the other threads when a crash ends the process: sends SIGPROF, the signal of the thread sweep (sweep.h), to
// them. In a sweep, each thread that did not crash answers SIGPROF by recording its own stack. In the table, a thread
// that "stays" sleeps in its SIGPROF handler until the process ends.
//
// clang-format off
// | situation                                              | what the thread does                                    |
// |--------------------------------------------------------|---------------------------------------------------------|
// | The process certainly ends, and the thread waited.     | It answers the sweep, and stays until the process ends. |
// | The process certainly ends, and the thread was         | It answers, continues for a short processor time        |
// | running.                                               | (halt_turn.c), and stays.                               |
// | The signal arrives after the sweep, or                 | If the process certainly ends, it does not answer, and  |
// | CRASHSHIELD_SWEEP_MS is 0.                             | stays.                                                  |
// | It crashes before it stays.                            | It has its own crash (handler.c).                       |
// | It blocks SIGPROF, or waits for SIGPROF by sigwait().  | It gets no signal, or SIGPROF stays pending (reach.c).  |
// |                                                        | It continues, and none of its calls is interrupted.     |
// | It begins to block SIGPROF, or to wait for it, after   | If the program uses SIGPROF itself, the signal may end  |
// | the halt has checked the thread.                       | the process.                                            |
// | It waits for a vfork child.                            | It continues, and the signal stays pending.             |
// | It calls exit() or exec() before it stays.             | The call takes effect, as it may without the shield.    |
// | It forks before it stays.                              | The child has the program's action for SIGPROF, and     |
// |                                                        | does not stay.                                          |
// | It faults while it answers.                            | It stays (handler.c).                                   |
// | Two threads crash.                                     | It stays if one of the two signals certainly ends the   |
// |                                                        | process. A thread that an earlier sweep released gets   |
// |                                                        | SIGPROF again.                                          |
// | The crash handler crashes.                             | It gets SIGPROF before the process ends.                |
// | A handler of the program receives the crash, or the    | It answers and continues. If SIGPROF made a call fail   |
// | kernel does not end the process (abort() in the first  | with EINTR, the call returns only after that handler    |
// | process of a pid namespace).                           | has ended, a signal of the program has arrived, or      |
// |                                                        | 100 ms have passed. Otherwise, the program might        |
// |                                                        | exit with its own status before the handler ends the    |
// |                                                        | process.                                                |
// | The process survives although it should end, because a | It continues after one second (SURVIVED_NAPS).          |
// | debugger discarded the signal.                         |                                                         |
// clang-format on
//
// While a thread stays in the SIGPROF handler, it blocks all signals except crash signals and glibc's own signals. It
// accepts glibc's signals, because setuid() on another thread waits for every thread.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "halt.h"

#include <linux/futex.h>

#include "../Capture/registers.h"
#include "../Containment/drain.h"
#include "../Dispatch/crasher.h"
#include "../Dispatch/state.h"
#include "../Dispatch/trusted.h"
#include "../Dispatch/watch.h"
#include "cs_ring_access.h"
#include "halt_turn.h"
#include "own_threads.h"
#include "reach.h"
#include "sweep_turn.h"
#include "task_list.h"

// cs_halt_all() sends SIGPROF in rounds of at most 1 ms (STEPS × STEP_NS). Threads that were running must stay too
// after no thread has crashed for OTHERS_NS (3 ms). There are at most ROUNDS rounds.
#define OTHERS_NS UINT64_C(3000000)
#define ROUNDS    100
#define STEPS     5
#define STEP_NS   200000

// A thread that stays checks every 50 ms whether the process has survived the signal. The process has survived if no
// thread was in the crash handler in 20 checks in a row (1 s). A thread stays at most 2400 × 50 ms (two minutes), which
// is twice the longest deadline of the watchdog.
#define STAY_NAP_NS   50000000
#define STAY_NAPS     2400
#define SURVIVED_NAPS 20

// SIGPROF can make a system call of a thread fail with EINTR. If a handler of the program receives the crash, the
// interrupted thread delays the return of this call (hold), at most 50 × 2 ms after all threads have left the crash
// handler. After the first 5 of these 50 steps, it checks whether the program's handler has ended. An earlier check
// could be wrong, because the crashing thread can soon crash again, as abort() does in the first process of a pid
// namespace.
#define HOLD_NAP_NS 2000000
#define HOLD_NAPS   50
#define HOLD_QUIET  5
#define HOLD_LIMIT  60000

static uint32_t has_begun; // atomic, a futex: 1 while a halt is in progress
static uint32_t is_last;   // atomic: whether threads that were running must stay too
static uint32_t staying;   // atomic: the number of threads that stay in the SIGPROF handler
static uint32_t over;      // atomic, a futex: incremented when hold() finds that the program's handler has ended
static uint32_t checking;  // atomic: 1 while a thread in hold() checks whether the handler has ended
static cs_task_list list;  // lists the threads; only the thread that halts the others uses it

static void sleep_while(const uint32_t *word, uint32_t value, long at_most_ns) SIGNAL_SAFE {
  const struct timespec time = {.tv_nsec = at_most_ns};
  cs_system_call(SYS_futex, (long)word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, value, (long)&time, 0, 0);
}

static void wake_all(const uint32_t *word) SIGNAL_SAFE {
  cs_system_call(SYS_futex, (long)word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT32_MAX, 0, 0, 0);
}

bool cs_halt_has_begun(void) SIGNAL_SAFE {
  return __atomic_load_n(&has_begun, __ATOMIC_SEQ_CST) != 0;
}

bool cs_halt_begin(void) SIGNAL_SAFE {
  // Sequentially consistent with a sweep, which reads `has_begun` before it restores the program's SIGPROF action. One
  // of the two threads therefore detects the other.
  return __atomic_exchange_n(&has_begun, 1, __ATOMIC_SEQ_CST) == 0;
}

void cs_halt_forget(void) SIGNAL_SAFE {
  cs_halt_forget_turns();
  cs_reach_forget();
  __atomic_store_n(&is_last, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&staying, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&checking, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&has_begun, 0, __ATOMIC_RELAXED);
}

// Ends the halt, because the process survives the signal.
static void end_halt(void) SIGNAL_SAFE {
  cs_halt_forget_turns();
  cs_reach_forget();
  __atomic_store_n(&is_last, 0, __ATOMIC_RELAXED);
  if (__atomic_exchange_n(&has_begun, 0, __ATOMIC_SEQ_CST) == 0) return;
  cs_sweep_give_signal_back();
  wake_all(&has_begun);
}

static void stay(void) SIGNAL_SAFE {
  uint32_t empty = 0;
  cs_reach_mark_set(cs_gettid(), CS_REACH_STAYS);
  __atomic_fetch_add(&staying, 1, __ATOMIC_RELAXED);
  for (int nap = 0; nap < STAY_NAPS && cs_halt_has_begun(); nap++) {
    sleep_while(&has_begun, 1, STAY_NAP_NS);
    empty = cs_watch_is_empty() ? empty + 1 : 0;
    if (empty >= SURVIVED_NAPS) end_halt();
  }
  __atomic_fetch_sub(&staying, 1, __ATOMIC_RELAXED);
}

// Returns whether the program's handler of the crash has ended. Only one thread at a time makes this check, because it
// reads files in /proc.
static bool is_handler_over(void) SIGNAL_SAFE {
  if (__atomic_exchange_n(&checking, 1, __ATOMIC_ACQUIRE) != 0) return false;
  const bool is_over = cs_sweep_is_survived();
  if (is_over) {
    __atomic_fetch_add(&over, 1, __ATOMIC_RELAXED);
    wake_all(&over);
  }
  __atomic_store_n(&checking, 0, __ATOMIC_RELEASE);
  return is_over;
}

static bool is_ignored(int signal) SIGNAL_SAFE {
  cs_kernel_action action = {0};
  if (cs_sigaction(signal, NULL, &action) != 0 || action.handler == SIG_IGN) return true;
  const bool is_harmless = signal == SIGCHLD || signal == SIGCONT || signal == SIGURG || signal == SIGWINCH;
  return action.handler == SIG_DFL && is_harmless;
}

// Returns whether a pending signal, other than SIGPROF, would have interrupted the thread's system call even without
// the sweep.
static bool has_signal(uint64_t blocked) SIGNAL_SAFE {
  uint64_t pending = 0;
  cs_system_call(SYS_rt_sigpending, (long)&pending, CS_KERNEL_SIGNAL_SET_BYTES, 0, 0, 0, 0);
  pending &= ~(blocked | UINT64_C(1) << (SIGPROF - 1));
  while (pending != 0) {
    const int signal = __builtin_ctzll(pending) + 1;
    if (!is_ignored(signal)) return true;
    pending &= pending - 1;
  }
  return false;
}

// Delays the return of a system call that SIGPROF has interrupted. Signals stay blocked during the delay: the thread
// may be on the alternate stack now, and the program's handlers must run on the stack that the program has chosen for
// them. Returns true if another crash begins to end the process during the delay.
static bool hold(const ucontext_t *context) SIGNAL_SAFE {
  const uint32_t before = __atomic_load_n(&over, __ATOMIC_RELAXED);
  uint64_t own = 0;
  memcpy(&own, &context->uc_sigmask, sizeof own);
  uint32_t empty = 0;
  for (int nap = 0; nap < HOLD_LIMIT && empty < HOLD_NAPS; nap++) {
    sleep_while(&over, before, HOLD_NAP_NS);
    if (cs_halt_has_begun()) return true;
    if (__atomic_load_n(&over, __ATOMIC_RELAXED) != before || has_signal(own)) return false;
    if (!cs_watch_is_empty()) continue;
    empty++;
    if (empty >= HOLD_QUIET && is_handler_over()) return false;
  }
  return false;
}

void cs_halt_here(const ucontext_t *context) SIGNAL_SAFE {
  if (!cs_halt_has_begun()) {
    // During a drain, the other threads continue at once, because the process still serves its requests.
    const bool drains = cs_drain_phase_now() != CS_DRAIN_NONE;
    if (!drains && cs_context_shows_interrupted_call(context) && hold(context)) stay();
    return;
  }
  cs_ring_registers registers;
  cs_registers_from_context(context, &registers);
  const bool is_running = !cs_registers_show_waiting(&registers);
  if (is_running && __atomic_load_n(&is_last, __ATOMIC_RELAXED) == 0 && !cs_halt_has_had_turn(cs_gettid())) return;
  stay();
}

void cs_halt_exempt(ucontext_t *context) SIGNAL_SAFE {
  uint64_t mask = 0;
  memcpy(&mask, &context->uc_sigmask, sizeof mask);
  mask |= UINT64_C(1) << (SIGPROF - 1);
  memcpy(&context->uc_sigmask, &mask, sizeof mask);
}

// Sends SIGPROF to the thread if it can run the handler. Returns true if the thread stays in this handler or will stay
// there, also because of an earlier SIGPROF.
static bool signal_one(int tid) SIGNAL_SAFE {
  if (cs_reach_has_mark(tid, CS_REACH_STAYS)) return true;
  if (cs_reach_has_mark(tid, CS_REACH_PENDS)) return false;
  if (cs_reach_of(tid) != CS_REACH_OPEN) return cs_reach_has_mark(tid, CS_REACH_SENT);
  cs_reach_mark_set(tid, CS_REACH_SENT);
  return cs_system_call(SYS_tgkill, cs_process.pid, tid, SIGPROF, 0, 0, 0) == 0;
}

// Sends SIGPROF to the threads that have not crashed. Stores the number of threads that stay or will stay in the
// SIGPROF handler. Returns false if the list of threads cannot be read.
static bool signal_all(uint32_t *ret_count) SIGNAL_SAFE {
  const int self = cs_gettid();
  bool has_self = false;
  uint32_t count = 0;
  cs_task_list_open(&list);
  for (int tid = cs_task_list_next(&list); tid != 0; tid = cs_task_list_next(&list)) {
    has_self = has_self || tid == self;
    if (tid == self || cs_own_is_idle(tid) || cs_crasher_of(tid) != NULL) continue;
    count += signal_one(tid);
  }
  cs_task_list_close(&list);
  *ret_count = count;
  return has_self;
}

static uint64_t crash_count(void) SIGNAL_SAFE {
  const cs_ring_header *header = &cs_process.ring->header;
  return cs_ring_counter(&header->slot_head) + cs_ring_counter(&header->slot_lost);
}

// Waits at most 1 ms until `wanted` threads stay in the SIGPROF handler. Returns whether this number was reached.
static bool await(uint32_t wanted) SIGNAL_SAFE {
  for (int step = 0; step < STEPS; step++) {
    if (__atomic_load_n(&staying, __ATOMIC_RELAXED) >= wanted) return true;
    cs_sleep_ns(STEP_NS);
  }
  return __atomic_load_n(&staying, __ATOMIC_RELAXED) >= wanted;
}

bool cs_halt_all(void) SIGNAL_SAFE {
  if (!cs_sweep_take_signal()) return false;
  uint64_t quiet_since_ns = cs_clock_ns(CLOCK_MONOTONIC);
  uint64_t seen = crash_count();
  for (int round = 0; round < ROUNDS; round++) {
    const bool was_last = __atomic_load_n(&is_last, __ATOMIC_RELAXED) != 0;
    uint32_t reached = 0;
    if (!signal_all(&reached)) return false;
    if (await(reached) || was_last) return true;
    const uint64_t count = crash_count();
    const bool is_alone = __atomic_load_n(&cs_process.busy_count, __ATOMIC_SEQ_CST) <= 1;
    const uint64_t time_ns = cs_clock_ns(CLOCK_MONOTONIC);
    if (count != seen || !is_alone) quiet_since_ns = time_ns;
    seen = count;
    if (time_ns - quiet_since_ns >= OTHERS_NS) __atomic_store_n(&is_last, 1, __ATOMIC_RELAXED);
  }
  return true;
}

#endif
