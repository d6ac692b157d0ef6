// If a trap is contained, the trapping thread is parked: it never runs again, but the process continues. A seat is a
// thread's place in the thread pool (pool.h). After a thread has parked, some work can block, because it needs a lock
// of the program. The thread of the answers does this work: it gives the seats of parked threads to other threads,
// resumes the code that waits for the result of a trapped request, and searches for threads that wait for a lock of a
// parked thread. A drain lets the other requests finish and then ends the process; even if the thread of the answers
// blocks, the ender (ender.c) ends it.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "answers.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../setup.h"
#include "pool.h"

#include "../../Signal/Containment/contained_request.h"
#include "../../Signal/Containment/drain.h"
#include "../../Signal/Containment/waiter.h"
#include "../../Signal/Dispatch/trusted.h"
#include "../../Signal/Threads/task_list.h"

#define MS UINT64_C(1000000)

// The stack size leaves space for the program's executors and callbacks. Unused pages of the stack need no memory.
#define STACK_BYTES (UINT64_C(256) * 1024)

// The pauses between two searches for threads that wait for a parked thread (waiters, waiter.h). They depend on the
// time since the last thread parked. The first pauses are short, because most waiters appear soon after a trap. A
// search reads a file in /proc for each thread, at about 12 µs for each file.
#define SOON_NS       (300 * MS)
#define SOON_LOOK_NS  (10 * MS)
#define LATER_NS      (10000 * MS)
#define LATER_LOOK_NS (50 * MS)
#define LAST_LOOK_NS  (200 * MS)

static void answer_run(void);
static void drain_run(void);
static cs_own_thread answers = {
    .routine = answer_run, .stack_bytes = STACK_BYTES, .role = CS_OWN_ANSWERS, .name = "crashshield-a"};
static cs_own_thread drains = {
    .routine = drain_run, .stack_bytes = STACK_BYTES, .role = CS_OWN_DRAIN, .name = "crashshield-d"};
static cs_own_thread ender = {
    .routine = cs_ender_run, .stack_bytes = STACK_BYTES, .role = CS_OWN_ENDER, .name = "crashshield-e"};

static void (*answer)(uint64_t continuation, bool is_trap);
static void (*drain)(void);
static bool is_handled[CS_PARK_LIMIT];
static bool is_cut[CS_PARK_LIMIT];
static bool is_empty[CS_PARK_LIMIT]; // whether the parked thread's seat is still empty
static cs_task_list task_list;

// Unblocks the crash signals while the program's executors and callbacks run, because their code can crash. A signal
// that was blocked on the thread that started the shield stays blocked.
static void open_signals(const cs_own_thread *thread, sigset_t *ret_before) {
  const int crash_signals[CS_CRASH_SIGNAL_COUNT] = CS_CRASH_SIGNALS;
  sigset_t open;
  sigemptyset(&open);
  for (int index = 0; index < CS_CRASH_SIGNAL_COUNT; index++) {
    if (sigismember(&thread->starters, crash_signals[index]) == 0) sigaddset(&open, crash_signals[index]);
  }
  pthread_sigmask(SIG_UNBLOCK, &open, ret_before);
}

static void call_answer(uint64_t continuation, bool is_trap) {
  sigset_t before;
  open_signals(&answers, &before);
  answer(continuation, is_trap);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void drain_run(void) {
  sigset_t before;
  while (cs_drain_phase_now() == CS_DRAIN_NONE)
    cs_drain_await(CS_DRAIN_DRAINS, UINT64_C(3600000) * MS);
  open_signals(&drains, &before);
  drain();
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

// Gives the seat of a parked thread to another thread. If no thread can be created, begins a drain of the process; the
// next call of handle_parks() tries again.
static void fill_seat(uint32_t index) {
  cs_park *park = cs_park_at(index);
  is_empty[index] = park->seat != NULL && !cs_seat_replace(park->seat);
  if (is_empty[index]) cs_drain_begin_by(park, CS_RING_VERDICT_REASON_UNAVAILABLE);
}

// Shuts down the connections of the event loops whose threads have parked since the last call. Each loop takes up to 50
// ms, so the trapped requests are answered before this call.
static void cut_loops(void) {
  for (uint32_t index = 0; index < cs_park_count(); index++) {
    const cs_park *park = cs_park_at(index);
    if (park == NULL || !park->is_loop || is_cut[index]) continue;
    is_cut[index] = true;
    cs_loop_cut(park->tid);
  }
}

// Handles the threads that have parked since the last call. Returns whether a thread had parked.
static bool handle_parks(void) {
  bool has_new = false;
  bool has_loop = false;
  for (uint32_t index = 0; index < cs_park_count(); index++) {
    cs_park *park = cs_park_at(index);
    if (park != NULL && is_handled[index] && is_empty[index]) fill_seat(index);
    if (park == NULL || is_handled[index]) continue;
    // The parked thread enters the list of parks before it begins the drain, and then wakes this thread again. Answers
    // the request only after the drain has begun, so that the resumed code already sees that the process drains.
    if (park->verdict == CS_RING_VERDICT_DRAIN && cs_drain_phase_now() == CS_DRAIN_NONE) continue;
    is_handled[index] = has_new = true;
    fill_seat(index);
    if (park->must_answer) call_answer(cs_contained_request_continuation(park->handle), true);
    __atomic_store_n(&park->is_answered, 1, __ATOMIC_RELAXED);
    has_loop = has_loop || park->is_loop;
    cs_drain_news_add();
  }
  if (has_loop) cut_loops();
  return has_new;
}

static void answer_all(void) {
  for (uint32_t index = 0; index < CS_RING_REQUEST_LIMIT; index++) {
    uint64_t continuation = 0;
    if (cs_contained_request_take(index, &continuation)) call_answer(continuation, false);
  }
  cs_drain_note_told();
}

// Returns whether two descriptors are free, as many as a search opens. Without a free descriptor, reading the list of
// threads would use up the descriptor that is reserved for a crash.
static bool has_descriptors(void) {
  const int first = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int second = first < 0 ? -1 : fcntl(first, F_DUPFD_CLOEXEC, 0);
  if (second >= 0) close(second);
  if (first >= 0) close(first);
  return second >= 0;
}

// Sends a signal to each thread that waits for a parked thread. The thread that receives the signal parks, and wakes
// this thread.
static void look_for_waiters(void) {
  if (!has_descriptors()) return;
  cs_task_list_open(&task_list);
  for (int tid = cs_task_list_next(&task_list); tid != 0; tid = cs_task_list_next(&task_list)) {
    cs_task_call call = {0};
    if (cs_own_is_idle(tid) || cs_park_of(tid) != NULL || !cs_task_call_read(tid, &call)) continue;
    if (call.number != SYS_futex) continue;
    const int owner = cs_waiter_owner(call.arguments[0], call.arguments[1], call.arguments[2], call.arguments[3]);
    if (owner > 0 && owner != tid && cs_park_of(owner) != NULL) cs_waiter_send(tid);
  }
  cs_task_list_close(&task_list);
}

static void answer_run(void) {
  uint64_t last_ns = 0;
  for (;;) {
    const uint32_t seen = cs_park_news();
    if (handle_parks()) last_ns = cs_clock_ns(CLOCK_MONOTONIC);
    if (cs_drain_phase_now() == CS_DRAIN_TELLS) answer_all();
    const uint64_t age_ns = cs_clock_ns(CLOCK_MONOTONIC) - last_ns;
    const uint64_t pause_ns = age_ns < SOON_NS ? SOON_LOOK_NS : age_ns < LATER_NS ? LATER_LOOK_NS : LAST_LOOK_NS;
    const struct timespec look = {.tv_nsec = (long)pause_ns};
    cs_park_news_await(seen, last_ns == 0 ? NULL : &look);
    if (last_ns != 0) look_for_waiters();
  }
}

bool cs_answers_start(const cs_shim_containment *containment) {
  cs_shim_failure unused;
  memset(is_handled, 0, sizeof is_handled);
  memset(is_cut, 0, sizeof is_cut);
  answer = containment->answer;
  drain = containment->drain;
  if (cs_own_thread_start(&ender, &unused) != CS_SHIM_OK) return false;
  if (cs_own_thread_start(&answers, &unused) != CS_SHIM_OK) return false;
  return drain == NULL || cs_own_thread_start(&drains, &unused) == CS_SHIM_OK;
}

#endif
