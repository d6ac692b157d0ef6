#include "cs_platform.h"

#if CS_SUPPORTED

#include "sweep.h"

#include "../Dispatch/crasher.h"
#include "../Dispatch/state.h"
#include "../Dispatch/trusted.h"
#include "cs_ring_access.h"
#include "halt.h"
#include "halt_turn.h"
#include "own_threads.h"
#include "reach.h"
#include "sweep_answer.h"
#include "sweep_turn.h"
#include "task_list.h"

#define NS_PER_MS   UINT64_C(1000000)
#define SLEEP_NS    100000
#define SLEEP_TRIES 10000
// Most threads answer the sweep, that is, record their stacks, within this time after the last signal was sent.
#define SOON_NS (5 * NS_PER_MS)
// The additional time of the sweeping thread after the sweep's deadline. During this time, threads finish writing their
// answers, and the sweeping thread reads the kernel's data about threads that do not answer.
#define GRACE_NS  (5 * NS_PER_MS)
#define STATUS_NS (20 * NS_PER_MS)

static cs_task_list task_list;
static uint32_t under_way;                   // atomic
static bool is_unsent[CS_RING_THREAD_LIMIT]; // whether the thread of this slot blocked SIGPROF and got no signal

static uint64_t now_ns(void) SIGNAL_SAFE {
  return cs_clock_ns(CLOCK_MONOTONIC);
}

// Each thread writes its answer to a slot of the ring. Returns the index of the first usable slot, starting at `index`.
// Skips slots that a thread is still writing for an earlier crash.
static uint32_t next_place(uint32_t index) SIGNAL_SAFE {
  const cs_ring_thread *threads = cs_process.ring->threads;
  while (index < CS_RING_THREAD_LIMIT &&
         (cs_ring_thread_state_acquire(&threads[index]) & CS_RING_STATE_MASK) == CS_RING_STATE_WRITING)
    index++;
  return index;
}

// Sends SIGPROF to the thread, with the index of its slot. Returns false if the thread has ended.
static bool signal_place(int tid, uint32_t index) SIGNAL_SAFE {
  siginfo_t information = {.si_signo = SIGPROF, .si_code = SI_QUEUE};
  information.si_pid = cs_process.pid;
  information.si_value.sival_int = (int)index;
  is_unsent[index] = false;
  cs_reach_mark_set(tid, CS_REACH_SENT);
  long result = cs_queue_signal(cs_process.pid, tid, SIGPROF, &information);
  // Queueing the signal can fail, for example because the signal queue is full or a seccomp filter refuses the call. In
  // this case, sends the signal without the slot's index.
  if (result != 0 && result != -ESRCH) result = cs_system_call(SYS_tgkill, cs_process.pid, tid, SIGPROF, 0, 0, 0);
  return result == 0;
}

// Returns whether the thread ID belongs to this process. If /proc belongs to another pid namespace, its thread IDs can
// belong to other processes.
static bool is_thread_of_ours(int tid) SIGNAL_SAFE {
  return cs_system_call(SYS_tgkill, cs_process.pid, tid, 0, 0, 0, 0) != -ESRCH;
}

// Records the kernel's data about a thread that does not answer. `answer` is a cs_ring_answer.
static void answer_for(cs_ring_thread *thread, uint32_t answer, const cs_task_status *status) SIGNAL_SAFE {
  if (!cs_sweep_begin_to_write(thread, cs_sweep_state(CS_RING_STATE_ASKED))) return;
  cs_ring_thread_record *record = &thread->record;
  record->answer = answer;
  record->run_state = status->run_state;
  record->blocked_signals = status->blocked_signals;
  memcpy(record->name, status->name, sizeof record->name);
  if (status->run_state == 'R') cs_sweep_note_running();
  cs_sweep_commit(thread);
}

static void answer_for_closed(cs_ring_thread *thread) SIGNAL_SAFE {
  cs_task_status status = {0};
  cs_task_status_read(thread->record.tid, &status);
  answer_for(thread, CS_RING_ANSWER_BLOCKED, &status);
}

// Assigns the slot to the thread and sends the signal. Returns false if the thread has ended.
static bool ask(int tid, uint32_t index) SIGNAL_SAFE {
  cs_ring_thread *thread = &cs_process.ring->threads[index];
  uint64_t asked = cs_sweep_state(CS_RING_STATE_ASKED);
  // The slot can contain the answer of a thread to an earlier sweep.
  if (thread->record.tid != 0) memset(&thread->record, 0, sizeof thread->record);
  thread->record.tid = tid;
  __atomic_store_n(&thread->state, asked, __ATOMIC_RELEASE);
  __atomic_store_n(&cs_process.ring->header.thread_count, index + 1, __ATOMIC_RELEASE);
  const cs_reach reach = cs_reach_of(tid);
  is_unsent[index] = reach != CS_REACH_OPEN;
  const bool is_there = reach == CS_REACH_OPEN ? signal_place(tid, index) : is_thread_of_ours(tid);
  if (reach == CS_REACH_CLOSED && is_there) answer_for_closed(thread);
  // The thread can have received a profiler's SIGPROF before ours. In this case, the thread is already writing its
  // answer and keeps the slot.
  if (is_there || !__atomic_compare_exchange_n(&thread->state, &asked, CS_RING_STATE_FREE, false, __ATOMIC_RELAXED,
                                               __ATOMIC_RELAXED)) {
    return true;
  }
  thread->record.tid = 0;
  __atomic_store_n(&cs_process.ring->header.thread_count, index, __ATOMIC_RELEASE);
  return false;
}

// Asks all other threads for their stacks. Returns false if the list of threads cannot be read. Also returns false if
// the list does not contain the calling thread, because it then belongs to another pid namespace.
static bool ask_all(uint64_t deadline_ns) SIGNAL_SAFE {
  cs_ring_header *header = &cs_process.ring->header;
  const int self = cs_gettid();
  bool has_self = false;
  uint32_t asked = next_place(0);
  uint32_t total = 0;
  // The ring's `thread_count` is written even if no thread gets a signal, because the program can have overwritten it.
  __atomic_store_n(&header->thread_count, 0, __ATOMIC_RELEASE);
  cs_task_list_open(&task_list);
  for (int tid = cs_task_list_next(&task_list); tid != 0; tid = cs_task_list_next(&task_list)) {
    has_self = has_self || tid == self;
    if (tid == self || cs_own_is_idle(tid) || cs_crasher_of(tid) != NULL) continue;
    total++;
    if (asked >= CS_RING_THREAD_LIMIT || now_ns() >= deadline_ns) continue;
    if (ask(tid, asked)) {
      asked = next_place(asked + 1);
    } else {
      total--;
    }
  }
  cs_task_list_close(&task_list);
  __atomic_store_n(&header->thread_total, total, __ATOMIC_RELAXED);
  return has_self;
}

// Returns the index of the first slot, from `from` on, for whose answer this thread still waits.
static uint32_t count_of_answers(uint32_t from, uint64_t waited_for) SIGNAL_SAFE {
  const uint32_t count = cs_thread_count(cs_process.ring);
  while (from < count) {
    const uint64_t state = cs_ring_thread_state_acquire(&cs_process.ring->threads[from]);
    const bool is_awaited = state == cs_sweep_state(CS_RING_STATE_WRITING) || state == cs_sweep_state(waited_for);
    if (is_awaited) break;
    from++;
  }
  return from;
}

// Waits until every signaled thread has answered, but not beyond `deadline_ns`. If `waited_for` is
// CS_RING_STATE_WRITING, waits only for threads that have begun to write their answers.
static void wait_for(uint64_t waited_for, uint64_t deadline_ns) SIGNAL_SAFE {
  const uint32_t count = cs_thread_count(cs_process.ring);
  uint32_t done = 0;
  for (int attempt = 0; attempt < SLEEP_TRIES; attempt++) {
    done = count_of_answers(done, waited_for);
    if (done >= count || now_ns() >= deadline_ns) return;
    cs_sleep_ns(SLEEP_NS);
    if (cs_halt_has_begun()) cs_halt_remind();
  }
}

// Sends SIGPROF to the threads that did not get it before, because they blocked it, if they no longer block it.
static void ask_again(void) SIGNAL_SAFE {
  const uint32_t count = cs_thread_count(cs_process.ring);
  for (uint32_t index = 0; index < count; index++) {
    cs_ring_thread *thread = &cs_process.ring->threads[index];
    if (!is_unsent[index] || cs_ring_thread_state_acquire(thread) != cs_sweep_state(CS_RING_STATE_ASKED)) continue;
    if (cs_reach_of(thread->record.tid) != CS_REACH_OPEN) {
      answer_for_closed(thread);
    } else {
      (void)signal_place(thread->record.tid, index);
    }
  }
}

// Records the kernel's data about threads that have not answered. If `only_blocked` is true, records only the threads
// that cannot answer because they block the signal.
static void note_silent(bool only_blocked, uint64_t deadline_ns) SIGNAL_SAFE {
  const uint32_t count = cs_thread_count(cs_process.ring);
  for (uint32_t index = 0; index < count; index++) {
    cs_ring_thread *thread = &cs_process.ring->threads[index];
    if (cs_ring_thread_state_acquire(thread) != cs_sweep_state(CS_RING_STATE_ASKED)) continue;
    cs_task_status status = {0};
    if (now_ns() < deadline_ns) cs_task_status_read(thread->record.tid, &status);
    // A thread inside our handler also blocks SIGPROF, but no SIGPROF is pending for it.
    const uint64_t waiting = status.blocked_signals & status.pending_signals;
    const bool is_blocked = (waiting & UINT64_C(1) << (SIGPROF - 1)) != 0;
    if (only_blocked && !is_blocked) continue;
    if (is_blocked) cs_reach_mark_set(thread->record.tid, CS_REACH_PENDS);
    answer_for(thread, is_blocked ? CS_RING_ANSWER_BLOCKED : CS_RING_ANSWER_NONE, &status);
  }
}

bool cs_sweep_is_under_way(void) SIGNAL_SAFE {
  return __atomic_load_n(&under_way, __ATOMIC_SEQ_CST) != 0;
}

static bool sweep(void) SIGNAL_SAFE {
  if (cs_process.sweep_ms == 0 || !cs_sweep_take_signal()) return false;
  cs_ring_header *header = &cs_process.ring->header;
  const uint64_t start_ns = now_ns();
  const uint64_t deadline_ns = start_ns + cs_process.sweep_ms * NS_PER_MS;
  cs_sweep_forget_running();
  if (!cs_halt_has_begun()) cs_reach_forget();
  __atomic_store_n(&header->sweep, CS_RING_SWEEP_UNDER_WAY, __ATOMIC_RELAXED);

  const bool is_whole = ask_all(deadline_ns);
  const uint64_t soon_ns = now_ns() + SOON_NS;
  wait_for(CS_RING_STATE_ASKED, soon_ns < deadline_ns ? soon_ns : deadline_ns);
  ask_again();
  // Threads that keep SIGPROF blocked cannot answer. They are recorded now, so that the sweep does not wait for them.
  note_silent(true, deadline_ns);
  wait_for(CS_RING_STATE_ASKED, deadline_ns);
  // If the crash ends the process, our SIGPROF handler stays installed. A thread that receives SIGPROF late must stay
  // in this handler, too (halt.c).
  if (!cs_halt_has_begun()) cs_sweep_give_signal_back();
  wait_for(CS_RING_STATE_WRITING, now_ns() + GRACE_NS);
  note_silent(false, now_ns() + STATUS_NS);

  header->sweep_ns = now_ns() - start_ns;
  // release: a reader that reads this value of `sweep` also reads all earlier writes of the sweep.
  __atomic_store_n(&header->sweep, is_whole ? CS_RING_SWEEP_DONE : CS_RING_SWEEP_BLIND, __ATOMIC_RELEASE);
  if (!is_whole) cs_sweep_note_running();
  return true;
}

bool cs_sweep(void) SIGNAL_SAFE {
  // Sequentially consistent with cs_halt_begin(). If another thread begins a halt now, either that thread reads this
  // store, or this thread reads that the halt has begun.
  __atomic_store_n(&under_way, 1, __ATOMIC_SEQ_CST);
  const bool is_done = sweep();
  __atomic_store_n(&under_way, 0, __ATOMIC_SEQ_CST);
  return is_done;
}

void cs_sweep_forget(void) SIGNAL_SAFE {
  cs_sweep_forget_turn();
  __atomic_store_n(&under_way, 0, __ATOMIC_RELAXED);
  cs_sweep_give_signal_back();
  cs_halt_forget();
  cs_sweep_forget_answers();
}

#endif
