// The watchdog, a thread that ends the process if the crash handler stalls (docs/decisions/0010).
//
// clang-format off
// | after                       | the watchdog                                                                       |
// |-----------------------------|------------------------------------------------------------------------------------|
// | a twentieth of the deadline | Reminds a thread that has used half of that time on a processor: sends it its own  |
// |                             | signal again. The thread then commits a partial record (overdue.c).                |
// | three twentieths            | Reminds any other thread, which sleeps or waits for a processor.                   |
// | four ticks after a reminder | Commits the record of a thread that has not handled its reminder.                  |
// | the deadline                | Reminds the threads that still write. Eight ticks later, commits and delivers all  |
// |                             | records, and ends the process by the signal of the oldest crash.                   |
// clang-format on
//
// The watchdog measures time by counting short sleeps (ticks of 10 ms), and not with a clock. If the whole machine
// stalls for a minute, the handler cannot run either, and the watchdog counts only one tick.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "watchdog.h"

#include "../Deliver/deliver.h"
#include "../FaultInjection/fault_injection.h"
#include "../FirstChance/chance.h"
#include "../Kernel/descriptors.h"
#include "../Lines/lines.h"
#include "../Threads/own_threads.h"
#include "crasher.h"
#include "finish.h"
#include "replaced_handlers.h"
#include "state.h"
#include "trusted.h"
#include "watch.h"

#define RECORD_PART 20
// On a busy machine, each short sleep takes longer. The watchdog therefore has a second limit: it also ends the process
// when CLOCK_PATIENCE times the deadline has passed on the clock. Of each short sleep, at most NAP_LIMIT_NS counts
// toward this limit, because the process can have been stopped during the sleep.
#define CLOCK_PATIENCE 4
#define NAP_LIMIT_NS   UINT64_C(100000000)
// The maximum number of times that a short sleep continues after a signal, such as a profiler's SIGPROF, has
// interrupted it.
#define NAP_TRIES 1000

// The interval at which the watchdog checks whether threads have left first-chance handlers (chance.h).
#define CHECK_NS 20000000

// The number of descriptors that the watchdog keeps open after a crash that the process survives (close_copy).
#define NEEDED_COUNT 4

// Sets a kernel timer that ends the process with SIGKILL after `deadline_ms` plus one second. The timer is necessary
// because the watchdog itself can block forever while it delivers, for example on a failed disk.
static void limit_patience(int32_t *ret_timer, uint32_t deadline_ms) SIGNAL_SAFE {
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
  const struct itimerspec once = {
      .it_value = {.tv_sec = deadline_ms / 1000 + 1, .tv_nsec = deadline_ms % 1000 * 1000000L}};
  *ret_timer = -1;
  if (cs_system_call(SYS_timer_create, CLOCK_MONOTONIC, (long)&event, (long)ret_timer, 0, 0, 0) != 0) return;
  cs_system_call(SYS_timer_settime, *ret_timer, 0, (long)&once, 0, 0, 0);
}

static void forget_patience(int32_t timer) SIGNAL_SAFE {
  if (timer >= 0) cs_system_call(SYS_timer_delete, timer, 0, 0, 0, 0, 0);
}

static void deliver(uint32_t deadline_ms) SIGNAL_SAFE {
  int32_t timer = -1;
  limit_patience(&timer, deadline_ms);
  cs_deliver_for_others();
  forget_patience(timer);
}

// Returns whether the crash of a thread in the handler is not delivered yet.
static bool is_undelivered(void) SIGNAL_SAFE {
  for (uint32_t index = 0; index < CS_RING_SLOT_LIMIT; index++) {
    const cs_crasher *crasher = cs_crasher_at(index);
    if (crasher != NULL && crasher->is_counted) return true;
  }
  return false;
}

// Sleeps for one tick, and returns the part of the elapsed time that counts toward the limit on the clock.
static uint64_t nap(void) SIGNAL_SAFE {
  const uint64_t start_ns = cs_clock_ns(CLOCK_MONOTONIC);
  cs_sleep_whole_ns(CS_TICK_NS, NAP_TRIES);
  const uint64_t passed_ns = cs_clock_ns(CLOCK_MONOTONIC) - start_ns;
  return passed_ns < NAP_LIMIT_NS ? passed_ns : NAP_LIMIT_NS;
}

// After the deadline, waits 80 ms (two times CS_TICKS_AFTER_REMINDER) for threads that crashed just before the deadline
// or have not reacted to a reminder.
static bool wait_a_last_time(void) SIGNAL_SAFE {
  for (int tick = 0; tick < 2 * CS_TICKS_AFTER_REMINDER; tick++) {
    if (tick == CS_TICKS_AFTER_REMINDER) cs_overdue_remind_all();
    nap();
    if (cs_watch_is_empty()) return false;
  }
  return true;
}

// Returns the signal of the oldest crash whose thread is still in the handler. If no thread in the handler has a slot,
// returns the signal of the first thread that entered the handler.
static const siginfo_t *information_of_first(void) SIGNAL_SAFE {
  const cs_crasher *first = NULL;
  for (uint32_t index = 0; index < CS_RING_SLOT_LIMIT; index++) {
    const cs_crasher *crasher = cs_crasher_at(index);
    if (crasher != NULL && (first == NULL || crasher->ticket < first->ticket)) first = crasher;
  }
  return first != NULL ? &first->information : cs_watch_first();
}

// After a crash that the process survived: closes all descriptors in the watchdog's own table except those that a later
// crash needs. Otherwise, the table would keep files open that the program closes.
static void close_copy(void) SIGNAL_SAFE {
  const cs_descriptor *const needed[NEEDED_COUNT] = {&cs_process.ring_descriptor, &cs_process.spool,
                                                     &cs_process.last_words, &cs_process.first_stderr};
  int kept[NEEDED_COUNT] = {-1, -1, -1, -1};
  const bool is_stderr_needed = cs_process.words_to_stderr || cs_process.record_to_stderr;
  for (int index = 0; index < NEEDED_COUNT - !is_stderr_needed; index++) {
    if (cs_descriptor_is_ours(needed[index])) kept[index] = needed[index]->number;
  }
  // If the kernel does not support close_range, the copied table keeps all descriptors.
  (void)cs_descriptors_separate_keeping(kept, NEEDED_COUNT);
}

static void end_process(uint32_t deadline_ms) SIGNAL_SAFE {
  const bool has_committed = cs_overdue_commit_all();
  const siginfo_t *first = information_of_first();
  const bool is_end = cs_finish_is_end(first->si_signo, first) && !cs_handler_is_replaced(first->si_signo);
  const bool has_copy = is_end && cs_descriptors_separate();
  // If a crashing thread is delivering now, the watchdog need not deliver.
  const bool is_served = __atomic_load_n(&cs_process.delivering_tid, __ATOMIC_ACQUIRE) != 0;
  int32_t timer = -1;
  limit_patience(&timer, deadline_ms);
  if (has_committed || (is_undelivered() && !is_served)) cs_deliver_for_others();
  cs_deliver_copy_for_others();
  cs_lines_write();
  forget_patience(timer);
  if (cs_watch_close()) cs_finish_at_once(information_of_first());
  if (has_copy) close_copy();
}

static void watch_crash(uint32_t deadline_ms) SIGNAL_SAFE {
  const uint32_t wanted_ms = cs_process.test_deadline_ms != 0 ? cs_process.test_deadline_ms : deadline_ms;
  const uint32_t reminder_ms = cs_process.test_reminder_ms != 0 ? cs_process.test_reminder_ms : wanted_ms / RECORD_PART;
  const uint32_t record_ticks = reminder_ms / CS_TICK_MS + 1;
  const uint32_t limit = wanted_ms / CS_TICK_MS + 1;
  uint64_t passed_ns = 0;
  for (uint32_t ticks = 0; ticks < limit && passed_ns < CLOCK_PATIENCE * (uint64_t)wanted_ms * 1000000;) {
    const uint64_t nap_ns = nap();
    if (cs_watch_is_empty()) return;
    if (cs_injection_is_awaited()) continue;
    ticks++;
    passed_ns += nap_ns;
    if (cs_overdue_look(record_ticks)) deliver(deadline_ms);
  }
  if (wait_a_last_time()) end_process(deadline_ms);
}

void cs_watchdog_run(uint32_t deadline_ms) SIGNAL_SAFE {
  cs_overdue_forget();
  cs_watch_start();
  for (;;) {
    bool is_nap = false;
    while (cs_watch_is_empty()) {
      const struct timespec soon = {.tv_nsec = CHECK_NS};
      if (cs_own_are_dismissed()) return;
      if (!is_nap) cs_watch_note_round();
      is_nap = cs_chance_check_all(deadline_ms);
      cs_watch_sleep(is_nap ? &soon : NULL);
    }
    watch_crash(deadline_ms);
  }
}

#endif
