// What becomes of a thread that does not get through the handler; docs/decisions/0010 has the reasons.
//
// clang-format off
// | by then                        | the watcher                                                                       |
// |--------------------------------|-----------------------------------------------------------------------------------|
// | a twentieth of the deadline    | a thread that has had half of that as processor time is reminded: its own signal  |
// |                                | comes a second time, and it commits what it has                                   |
// | three twentieths               | so is one that has not: it sleeps, or waits for a processor                       |
// | four ticks after a reminder    | a record whose thread cannot be reached is committed from here                    |
// | the deadline                   | it tells crashd, if the threads have not; the process ends by the first's signal  |
// clang-format on
//
// Time is counted in naps, not by a clock: a machine that stood still for a minute stood still for the handler, too.
#include "watch.h"

#include "crasher.h"
#include "deliver.h"
#include "finish.h"
#include "state.h"
#include "trusted.h"

#include <linux/futex.h>

#define TICK_MS              10
#define TICK_NS              INT64_C(10000000)
#define RECORD_PART          20
#define SLEEPER_PATIENCE     3
#define TICKS_AFTER_REMINDER 4
// Naps may be long on a busy machine; not for ever.
#define CLOCK_PATIENCE 4

typedef struct watch {
  uint32_t inside;       // atomic, a futex: threads in the handler
  int tid;               // atomic: the thread that watches
  siginfo_t information; // of the first thread that came in
} watch;

static watch now;

// What is known of the thread in each slot.
typedef struct watched {
  uint64_t ticket;
  uint32_t ticks;    // since it was first seen writing
  uint32_t reminded; // ticks then; 0: not yet
  uint64_t processor_ns;
} watched;

static watched threads[CS_RING_SLOT_LIMIT]; // touched by the watcher only

static void sleep_while(const void *word, uint32_t value, const struct timespec *at_most) SIGNAL_SAFE {
  cs_system_call(SYS_futex, (long)word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, value, (long)at_most, 0, 0);
}

static void wake(const void *word) SIGNAL_SAFE {
  cs_system_call(SYS_futex, (long)word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, 0, 0, 0);
}

void cs_watch_enter(const siginfo_t *information) SIGNAL_SAFE {
  // Sequentially consistent, like the load of the watcher: it looks again before it sleeps.
  if (__atomic_fetch_add(&now.inside, 1, __ATOMIC_SEQ_CST) != 0) return;
  now.information = *information; // read at the deadline, long after
  wake(&now.inside);
}

void cs_watch_leave(void) SIGNAL_SAFE {
  __atomic_fetch_sub(&now.inside, 1, __ATOMIC_SEQ_CST);
}

bool cs_watch_is_reminder(const siginfo_t *information) SIGNAL_SAFE {
  return information->si_code == SI_QUEUE && information->si_pid == cs_process.pid &&
         information->si_value.sival_ptr == (void *)&now;
}

bool cs_watch_is_watcher(int tid) SIGNAL_SAFE {
  return __atomic_load_n(&now.tid, __ATOMIC_RELAXED) == tid;
}

void cs_watch_await(void) SIGNAL_SAFE {
  const struct timespec patience = {.tv_sec = 1};
  if (__atomic_load_n(&now.tid, __ATOMIC_RELAXED) == 0) sleep_while(&now.tid, 0, &patience);
}

void cs_watch_forget(void) SIGNAL_SAFE {
  __atomic_store_n(&now.inside, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&now.tid, 0, __ATOMIC_RELAXED);
}

// Where even this thread waits for ever, for the same disk: the kernel ends the process.
static void limit_patience(int32_t *ret_timer, uint32_t deadline_ms) SIGNAL_SAFE {
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
  const struct itimerspec once = {
      .it_value = {.tv_sec = deadline_ms / 1000 + 1, .tv_nsec = deadline_ms % 1000 * 1000000L}};
  *ret_timer = -1;
  if (cs_system_call(SYS_timer_create, CLOCK_MONOTONIC, (long)&event, (long)ret_timer, 0, 0, 0) != 0) return;
  cs_system_call(SYS_timer_settime, *ret_timer, 0, (long)&once, 0, 0, 0);
}

static void deliver(uint32_t deadline_ms) SIGNAL_SAFE {
  int32_t timer = -1;
  limit_patience(&timer, deadline_ms);
  cs_deliver_for_others();
  if (timer >= 0) cs_system_call(SYS_timer_delete, timer, 0, 0, 0, 0, 0);
}

static void remind(const cs_crasher *crasher) SIGNAL_SAFE {
  siginfo_t information = {.si_signo = crasher->signal, .si_code = SI_QUEUE};
  information.si_pid = cs_process.pid;
  information.si_value.sival_ptr = (void *)&now;
  cs_queue_signal(cs_process.pid, crasher->tid, crasher->signal, &information);
}

// The kernel's name for the processor time of one thread (CPUCLOCK_SCHED and CPUCLOCK_PERTHREAD_MASK).
static uint64_t processor_ns(int tid) SIGNAL_SAFE {
  struct timespec time = {0};
  const long clock = (long)(int)(~(unsigned)tid << 3 | 6);
  if (cs_system_call(SYS_clock_gettime, clock, (long)&time, 0, 0, 0, 0) != 0) return 0;
  return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

// Whether it is time to remind the thread, given how long a record may take.
static bool is_overdue(const watched *thread, int tid, uint32_t record_ticks) SIGNAL_SAFE {
  if (thread->ticks < record_ticks) return false;
  if (thread->ticks >= record_ticks * SLEEPER_PATIENCE) return true;
  const uint64_t used_ns = processor_ns(tid) - thread->processor_ns;
  return used_ns >= record_ticks * (uint64_t)TICK_NS / 2;
}

// Concurrency: the reminder is pending, so that the thread runs the handler anew before it writes another byte.
static void look_at(uint32_t index, uint32_t deadline_ms) SIGNAL_SAFE {
  const uint32_t record_ticks = deadline_ms / TICK_MS / RECORD_PART + 1;
  cs_crasher *crasher = cs_crasher_at(index);
  watched *thread = &threads[index];
  if (crasher == NULL || !cs_crasher_is_writing(crasher)) {
    thread->ticks = 0;
    return;
  }
  if (thread->ticks == 0 || thread->ticket != crasher->ticket) {
    *thread = (watched){.ticket = crasher->ticket, .ticks = 1, .processor_ns = processor_ns(crasher->tid)};
    return;
  }
  thread->ticks++;
  if (thread->reminded == 0) {
    if (!is_overdue(thread, crasher->tid, record_ticks)) return;
    thread->reminded = thread->ticks;
    remind(crasher);
  } else if (thread->ticks >= thread->reminded + TICKS_AFTER_REMINDER) {
    cs_crasher_commit_as(crasher, CS_RING_RECORD_MINIMAL | CS_RING_RECORD_LATE);
    deliver(deadline_ms);
  }
}

// Whether a thread has not told of its crash.
static bool is_untold(void) SIGNAL_SAFE {
  for (uint32_t index = 0; index < CS_RING_SLOT_LIMIT; index++) {
    const cs_crasher *crasher = cs_crasher_at(index);
    if (crasher != NULL && crasher->is_counted) return true;
  }
  return false;
}

static void watch_crash(uint32_t deadline_ms) SIGNAL_SAFE {
  const uint32_t limit = deadline_ms / TICK_MS + 1;
  const uint64_t latest_ns = cs_clock_ns(CLOCK_MONOTONIC) + CLOCK_PATIENCE * (uint64_t)deadline_ms * 1000000;
  for (uint32_t ticks = 0; ticks < limit; ticks++) {
    cs_sleep_ns(TICK_NS);
    if (__atomic_load_n(&now.inside, __ATOMIC_SEQ_CST) == 0) return;
    for (uint32_t index = 0; index < CS_RING_SLOT_LIMIT; index++)
      look_at(index, deadline_ms);
    if (cs_clock_ns(CLOCK_MONOTONIC) >= latest_ns) break;
  }
  if (is_untold()) deliver(deadline_ms);
  cs_finish_at_once(&now.information);
}

void cs_watch_run(uint32_t deadline_ms) SIGNAL_SAFE {
  memset(threads, 0, sizeof threads);
  __atomic_store_n(&now.tid, cs_gettid(), __ATOMIC_RELAXED);
  wake(&now.tid);
  for (;;) {
    while (__atomic_load_n(&now.inside, __ATOMIC_SEQ_CST) == 0)
      sleep_while(&now.inside, 0, NULL);
    watch_crash(deadline_ms);
  }
}
