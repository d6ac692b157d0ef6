// What the other threads do from the moment in which the sweep's signal reaches them:
//
// clang-format off
// | situation                                       | what the thread does                                            |
// |-------------------------------------------------|-----------------------------------------------------------------|
// | the crash ends the process; it waited           | answers, and stays until the process ends                       |
// | the same; it was running                        | answers, goes on for a moment of processor time (halt_turn.c),  |
// |                                                 | and stays                                                       |
// | the same; the signal comes after the sweep      | does not answer, and stays                                      |
// | the same with CRASHSHIELD_SWEEP_MS=0            | does not answer, and stays                                      |
// | it crashes before it stays                      | a crash of its own (handler.c)                                  |
// | it blocks SIGPROF, or waits for it by sigwait() | is sent nothing, or keeps it pending (reach.c), and goes on;    |
// |                                                 | none of its calls is interrupted                                |
// | it starts to do so between that read and the     | a program that takes SIGPROF for its own ends as it does by it  |
// | signal                                          |                                                                 |
// | it waits for a vfork child                      | goes on: the signal stays pending                               |
// | it calls exit() or exec() before it stays       | it wins, as it may without us                                   |
// | it forks before it stays                        | the child has the program's SIGPROF action, and does not stay   |
// | it faults while it answers                      | stays (handler.c)                                               |
// | two threads crash                               | one certain end is enough; threads that an earlier sweep has    |
// |                                                 | let go are asked again                                          |
// | the handler crashes                             | all are asked to stay before the process ends                   |
// | a handler of the program's takes the crash: its | answers and goes on, except that a call which the signal has    |
// | own, one installed after ours that calls ours,  | made fail with EINTR returns only when that handler is over, a  |
// | siglongjmp(); or the kernel does not end the    | signal of the program's comes, or HOLD_NAPS have passed: the    |
// | process (abort() of a pid namespace's first)    | handler may end the process, and the program must not do so     |
// |                                                 | before it with an exit status of its own                        |
// | the process lives on after a certain end (a     | goes on after SURVIVED_NAPS                                     |
// | debugger took the signal away)                  |                                                                 |
// clang-format on
//
// A thread that stays blocks all signals but those of crashes and glibc's own: setuid() elsewhere gets its answer.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "halt.h"

#include <linux/futex.h>

#include "../Capture/registers.h"
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

// Running threads are let go until no thread has crashed for OTHERS_NS, or for so many ROUNDS.
#define OTHERS_NS UINT64_C(3000000)
#define ROUNDS    100
#define STEPS     5
#define STEP_NS   200000

// A staying thread checks whether the process lives on: after 20 × 50 ms with no thread in the handler it does. At most
// 2400 × 50 ms, twice the longest deadline of the watchdog.
#define STAY_NAP_NS   50000000
#define STAY_NAPS     2400
#define SURVIVED_NAPS 20

// A call that the sweep has interrupted is held for 50 × 2 ms after the handler.
// Whether it is over is checked after 5: the thread may crash again, as that of abort() does in a first process.
#define HOLD_NAP_NS 2000000
#define HOLD_NAPS   50
#define HOLD_QUIET  5
#define HOLD_LIMIT  60000

static uint32_t has_begun; // atomic, a futex
static uint32_t is_last;   // atomic: running threads stay as well
static uint32_t staying;   // atomic: threads that stay
static uint32_t over;      // atomic, a futex: how often a program's handler of a crash was seen to be over
static uint32_t checking;  // atomic: a held thread checks whether it is
static cs_task_list list;  // one thread halts the others

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
  // Sequentially consistent: a sweep that gives SIGPROF back reads it before.
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

// The process lives on.
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

// One held thread at a time reads what /proc says.
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

// Whether a signal waits that would interrupt the call. SIGPROF does not: it may be one of ours.
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

// Keeps a call that has been interrupted from returning. The thread stands on our alternate stack, so it leaves the
// signals blocked: the handler of one that comes runs after the return, on the stack that the program has for it.
// true: the process ends after all.
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
    if (cs_context_shows_interrupted_call(context) && hold(context)) stay();
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

// Whether the thread stays or is to: it is sent SIGPROF, or is still in the handler since it was.
static bool signal_one(int tid) SIGNAL_SAFE {
  if (cs_reach_has_mark(tid, CS_REACH_STAYS)) return true;
  if (cs_reach_has_mark(tid, CS_REACH_PENDS)) return false;
  if (cs_reach_of(tid) != CS_REACH_OPEN) return cs_reach_has_mark(tid, CS_REACH_SENT);
  cs_reach_mark_set(tid, CS_REACH_SENT);
  return cs_system_call(SYS_tgkill, cs_process.pid, tid, SIGPROF, 0, 0, 0) == 0;
}

// Says how many threads it has reached that have not crashed. false: the list of the threads cannot be read.
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

// Whether so many stay within a round.
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
