#include "cs_platform.h"

#if CS_SUPPORTED

#include "drain.h"

#include "../../Setup/Containment/pool.h"
#include "../Capture/registers.h"
#include "../Dispatch/finish.h"
#include "../Dispatch/state.h"
#include "../Dispatch/trusted.h"
#include "../Dispatch/watch.h"
#include "../Lines/lines.h"
#include "../Threads/task_list.h"
#include "cs_ring_access.h"

#define MS UINT64_C(1000000)

// The interval at which the ender checks the requests during a drain.
#define LOOK_NS (10 * MS)
// The drain is done if no request was in flight for this time. It must not be zero, because a connection that was just
// accepted has no request yet.
#define QUIET_NS (50 * MS)
// On a machine under load, an event loop can need longer than QUIET_NS to read the request of a connection. While a
// thread runs or waits for a processor, the drain therefore continues, at most for this time after the last request.
#define STARVED_NS (1000 * MS)
// The time from the phase TELLS to the end of the process, in which the callers are answered and their responses leave
// the process.
#define TELL_NS        (100 * MS)
#define WRITE_SLEEP_NS 1000000
// If the thread of the answers has not handled a parked thread for this time, the ender treats it as blocked, and
// drains the process.
#define ANSWER_NS (3000 * MS)
// The ender waits at most 2 s until the thread that must end the process has left the handler.
#define LEAVE_TRIES    200
#define LEAVE_SLEEP_NS 10000000

typedef struct progress {
  uint64_t begin_ns;
  uint64_t moved_ns;  // the last time at which a request ended or a job of the pool began
  uint64_t flight_ns; // the last time at which a request was in flight
  uint64_t busy_ns;   // the last time at which a request was in flight or could begin
  uint64_t count;
  uint32_t quiet_looks; // the number of calls of look() after `busy_ns`
} progress;

static uint64_t now_ns(void) SIGNAL_SAFE {
  return cs_clock_ns(CLOCK_MONOTONIC);
}

static uint64_t progress_count(void) SIGNAL_SAFE {
  return cs_requests_ended() + cs_pool_jobs();
}

// If too many workers (threads that run tasks) have parked, returns the reason for the end of the drain, else NONE.
static cs_ring_drain_end end_by_capacity(void) SIGNAL_SAFE {
  const cs_park *began = cs_drain_first();
  uint32_t workers = 0;
  bool has_waiter = false;
  for (uint32_t index = 0; index < cs_park_count(); index++) {
    const cs_park *park = cs_park_at(index);
    // A thread with a contained trap does not count: it belongs to the pool, and another thread takes its seat
    // (pool.h).
    if (park == NULL || (park != began && park->verdict == CS_RING_VERDICT_CONTAIN)) continue;
    // If the process has a pool, a thread that waits for a lock is not counted either: another thread takes its seat,
    // and only its request is lost.
    if (cs_containment_now.has_pool && park->is_waiter) continue;
    workers += park->is_worker;
    has_waiter = has_waiter || park->is_waiter;
  }
  if (workers <= cs_containment_now.capacity) return CS_RING_DRAIN_NONE;
  return has_waiter ? CS_RING_DRAIN_WAITS : CS_RING_DRAIN_CRASH;
}

static cs_task_list list; // lists the threads of the process; only the ender uses this variable

// Returns whether a thread other than this one runs or waits for a processor.
static bool has_runnable(void) SIGNAL_SAFE {
  const int self = cs_gettid();
  bool is_found = false;
  int tid = 0;
  cs_task_list_open(&list);
  while (list.directory >= 0 && !is_found && (tid = cs_task_list_next(&list)) != 0) {
    cs_task_wait wait = {0};
    is_found = tid != self && cs_task_wait_read(tid, &wait) && wait.run_state == 'R';
  }
  cs_task_list_close(&list);
  return is_found;
}

static cs_ring_drain_end look(progress *way) SIGNAL_SAFE {
  const uint64_t time_ns = now_ns();
  const uint64_t count = progress_count();
  if (count != way->count) way->moved_ns = time_ns;
  way->count = count;
  if (cs_requests_in_flight() > 0) way->busy_ns = way->flight_ns = time_ns;
  if (time_ns - way->flight_ns < STARVED_NS && has_runnable()) way->busy_ns = time_ns;
  way->quiet_looks = way->busy_ns == time_ns ? 0 : way->quiet_looks + 1;
  const cs_ring_drain_end full = end_by_capacity();
  if (full != CS_RING_DRAIN_NONE) return full;
  // The ender itself can have waited for a processor. The drain is therefore done only if enough calls of this function
  // have found no request.
  if (time_ns - way->busy_ns >= QUIET_NS && way->quiet_looks >= QUIET_NS / LOOK_NS) return CS_RING_DRAIN_DONE;
  if (time_ns - way->begin_ns >= cs_containment_now.grace_ns) return CS_RING_DRAIN_DEADLINE;
  const uint64_t stall_ns = cs_containment_now.stall_ns;
  if (stall_ns != 0 && time_ns - way->moved_ns >= stall_ns) return CS_RING_DRAIN_STALL;
  return CS_RING_DRAIN_NONE;
}

static void watch_drain(void) SIGNAL_SAFE {
  const uint64_t begin_ns = now_ns();
  progress way = {.begin_ns = begin_ns,
                  .moved_ns = begin_ns,
                  .flight_ns = begin_ns,
                  .busy_ns = begin_ns,
                  .count = progress_count()};
  while (cs_drain_reason() == CS_RING_DRAIN_NONE) {
    const uint32_t seen = cs_drain_news();
    const cs_ring_drain_end end = look(&way);
    if (end != CS_RING_DRAIN_NONE) {
      cs_drain_end(end);
    } else {
      cs_drain_news_await(seen, LOOK_NS);
    }
  }
}

// Begins the phase TELLS, in which the callers that still wait are answered. If no caller waited, does not wait for
// answers to leave the process.
static void tell(void) SIGNAL_SAFE {
  const uint64_t end_ns = now_ns() + TELL_NS;
  const bool waits = cs_requests_in_flight() > 0;
  cs_drain_tell();
  cs_drain_await(CS_DRAIN_TOLD, TELL_NS);
  const uint64_t time_ns = now_ns();
  if (waits && time_ns < end_ns) cs_drain_await(CS_DRAIN_ENDS, end_ns - time_ns);
}

// Waits until no thread writes a crash record, because the end of the process would leave the record incomplete.
static void await_records(void) SIGNAL_SAFE {
  const uint64_t end_ns = now_ns() + cs_containment_now.record_ns;
  while (!cs_watch_is_empty() && now_ns() < end_ns)
    cs_sleep_ns(WRITE_SLEEP_NS);
}

// Orders the thread whose trap ends the process to leave the handler. If the thread does not leave, the ender ends the
// process.
static void end_process(void) SIGNAL_SAFE {
  const cs_park *park = cs_drain_first();
  siginfo_t information = {.si_signo = CS_TRAP_SIGNAL, .si_code = CS_TRAP_CODE};
  if (park != NULL) information.si_addr = (void *)(uintptr_t)park->pc;
  cs_drain_let_go();
  for (int attempt = 0; attempt < LEAVE_TRIES; attempt++) {
    if (cs_drain_first() == NULL) return;
    cs_sleep_ns(LEAVE_SLEEP_NS);
  }
  cs_lines_write();
  cs_finish_at_once(&information);
}

// Returns the oldest parked thread that the thread of the answers has not handled, or NULL.
static cs_park *unanswered(void) SIGNAL_SAFE {
  cs_park *oldest = NULL;
  for (uint32_t index = 0; index < cs_park_count(); index++) {
    cs_park *park = cs_park_at(index);
    if (park == NULL || __atomic_load_n(&park->is_answered, __ATOMIC_RELAXED) != 0) continue;
    if (oldest == NULL || park->told_ns < oldest->told_ns) oldest = park;
  }
  return oldest;
}

// Waits for the begin of a drain. Begins a drain if the thread of the answers is blocked, for example in an executor of
// the program that waits for a lock of a parked thread.
static void await_drain(void) SIGNAL_SAFE {
  const struct timespec soon = {.tv_nsec = (long)(100 * MS)};
  while (cs_drain_phase_now() == CS_DRAIN_NONE) {
    const uint32_t seen = cs_park_news();
    cs_park *const park = unanswered();
    if (park != NULL && now_ns() - park->told_ns >= ANSWER_NS) {
      cs_drain_begin_by(park, CS_RING_VERDICT_REASON_UNAVAILABLE);
    }
    if (cs_drain_phase_now() == CS_DRAIN_NONE) cs_park_news_await(seen, park == NULL ? NULL : &soon);
  }
}

void cs_ender_run(void) SIGNAL_SAFE {
  await_drain();
  watch_drain();
  // After another crash, the crashing thread ends the process, and does not wait for answers.
  if (cs_drain_reason() != CS_RING_DRAIN_CRASH || !cs_drain_had_crash()) tell();
  await_records();
  cs_drain_publish();
  end_process();
}

#endif
