#include "sweep.h"

#include "crasher.h"
#include "cs_ring_access.h"
#include "state.h"
#include "task_list.h"
#include "trusted.h"
#include "unwind.h"
#include "watch.h"

// Of a deep recursion of a thread that did not crash, less is kept; the rest of the places is for async callers.
#define HEAD_LIMIT 96
#define TAIL_LIMIT 24
// So deep a thread is looked at, in half a millisecond.
#define STEP_LIMIT 4096

#define NS_PER_MS   UINT64_C(1000000)
#define SLEEP_NS    100000
#define SLEEP_TRIES 10000
// So long after the last was asked, most have answered.
#define SOON_NS (5 * NS_PER_MS)
// For threads that have begun to answer at the deadline, and then to read what the kernel says of the silent ones.
#define GRACE_NS  (5 * NS_PER_MS)
#define STATUS_NS (20 * NS_PER_MS)

static uint32_t has_begun; // atomic: a sweep, ever
static uint32_t running;   // atomic: threads that did not wait for anything
static cs_task_list task_list;

// One for each thread that is asked; untouched ones take no memory.
static cs_cfi_scratch scratches[CS_RING_THREAD_LIMIT];
static bool is_answering[CS_RING_THREAD_LIMIT]; // each touched by its thread only

static uint64_t now_ns(void) SIGNAL_SAFE {
  return cs_clock_ns(CLOCK_MONOTONIC);
}

void cs_sweep_forget(void) SIGNAL_SAFE {
  __atomic_store_n(&has_begun, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&running, 0, __ATOMIC_RELAXED);
  memset(is_answering, 0, sizeof is_answering);
}

// The place of a thread among those that were asked. The signal says where to look first, but a SIGPROF that somebody
// else sent before is the one that is delivered.
static cs_ring_thread *place_of(int tid, const siginfo_t *information) SIGNAL_SAFE {
  cs_ring *ring = cs_process.ring;
  const uint32_t count = cs_ring_thread_count_acquire(&ring->header);
  const uint32_t hint = (uint32_t)information->si_value.sival_int;
  if (information->si_code == SI_QUEUE && hint < count && ring->threads[hint].record.tid == tid) {
    return &ring->threads[hint];
  }
  for (uint32_t index = 0; index < count && index < CS_RING_THREAD_LIMIT; index++) {
    if (ring->threads[index].record.tid == tid) return &ring->threads[index];
  }
  return NULL;
}

// One of the thread and the sweep writes the record.
static bool begin_to_write(cs_ring_thread *thread) SIGNAL_SAFE {
  uint64_t asked = CS_RING_STATE_ASKED;
  // acquire: pairs with the release store of ask().
  return __atomic_compare_exchange_n(&thread->state, &asked, CS_RING_STATE_WRITING, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED);
}

static void commit(cs_ring_thread *thread) SIGNAL_SAFE {
  thread->crc = cs_ring_crc32c(0, &thread->record, sizeof thread->record);
  // release: pairs with cs_ring_thread_state_acquire() of the reader.
  __atomic_store_n(&thread->state, CS_RING_STATE_COMMITTED, __ATOMIC_RELEASE);
}

void cs_sweep_answer(int signal, siginfo_t *information, void *context) SIGNAL_SAFE {
  (void)signal;
  if (cs_getpid() != cs_process.pid) return;
  cs_ring_thread *thread = place_of(cs_gettid(), information);
  if (thread == NULL || !begin_to_write(thread)) return;
  const size_t index = (size_t)(thread - cs_process.ring->threads);
  is_answering[index] = true;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  cs_ring_thread_record *record = &thread->record;
  const cs_frame_list frames = {.frames = record->frames,
                                .head_limit = HEAD_LIMIT,
                                .tail_limit = TAIL_LIMIT,
                                .limit = CS_RING_THREAD_FRAME_LIMIT,
                                .step_limit = STEP_LIMIT,
                                .count = &record->frame_count,
                                .total = &record->frame_total,
                                .head = &record->frame_head,
                                .stop = &record->unwind_stop};
  cs_registers_from_context(context, &record->registers);
  // Nothing faulted: what the kernel left there is of long ago.
  record->registers.error_code = record->registers.trap_number = record->registers.fault_address = 0;
  cs_thread_name((char *)record->name);
  if (cs_task_read(&cs_process.task_layout, &record->task_id, &record->task_priority, record->task_name,
                   &record->task_name_bytes)) {
    record->flags = CS_RING_RECORD_TASK;
  }
  cs_unwind(&scratches[index], &record->registers, &frames);
  cs_unwind_find_images(&frames);
  if (!cs_registers_show_waiting(&record->registers)) __atomic_fetch_add(&running, 1, __ATOMIC_RELAXED);
  record->answer = CS_RING_ANSWER_WHOLE;
  commit(thread);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  is_answering[index] = false;
}

bool cs_sweep_is_answering(int tid) SIGNAL_SAFE {
  if (__atomic_load_n(&has_begun, __ATOMIC_RELAXED) == 0) return false;
  const siginfo_t nothing = {0};
  const cs_ring_thread *thread = place_of(tid, &nothing);
  return thread != NULL && is_answering[thread - cs_process.ring->threads];
}

// false: it is gone.
static bool ask(int tid, uint32_t index) SIGNAL_SAFE {
  cs_ring_thread *thread = &cs_process.ring->threads[index];
  siginfo_t information = {.si_signo = SIGPROF, .si_code = SI_QUEUE};
  information.si_pid = cs_process.pid;
  information.si_value.sival_int = (int)index;
  thread->record.tid = tid;
  __atomic_store_n(&thread->state, CS_RING_STATE_ASKED, __ATOMIC_RELEASE);
  __atomic_store_n(&cs_process.ring->header.thread_count, index + 1, __ATOMIC_RELEASE);
  long result = cs_queue_signal(cs_process.pid, tid, SIGPROF, &information);
  // A limit on queued signals, or a seccomp profile.
  if (result != 0 && result != -ESRCH) result = cs_system_call(SYS_tgkill, cs_process.pid, tid, SIGPROF, 0, 0, 0);
  // A profiler's SIGPROF may have come instead of ours: then the thread answers all the same, and keeps its place.
  uint64_t asked = CS_RING_STATE_ASKED;
  if (result == 0 || !__atomic_compare_exchange_n(&thread->state, &asked, CS_RING_STATE_FREE, false, __ATOMIC_RELAXED,
                                                  __ATOMIC_RELAXED)) {
    return true;
  }
  thread->record.tid = 0;
  __atomic_store_n(&cs_process.ring->header.thread_count, index, __ATOMIC_RELEASE);
  return false;
}

static void ask_all(uint64_t deadline_ns) SIGNAL_SAFE {
  cs_ring_header *header = &cs_process.ring->header;
  const int self = cs_gettid();
  uint32_t asked = 0;
  uint32_t total = 0;
  cs_task_list_open(&task_list);
  for (int tid = cs_task_list_next(&task_list); tid != 0; tid = cs_task_list_next(&task_list)) {
    if (tid == self || cs_watch_is_watcher(tid) || cs_crasher_of(tid) != NULL) continue;
    total++;
    if (asked >= CS_RING_THREAD_LIMIT || now_ns() >= deadline_ns) continue;
    if (ask(tid, asked)) {
      asked++;
    } else {
      total--;
    }
  }
  cs_task_list_close(&task_list);
  __atomic_store_n(&header->thread_total, total, __ATOMIC_RELAXED);
}

// The first threads from `from` on that are committed are not looked at again.
static uint32_t count_of_answers(uint32_t from, uint64_t waited_for) SIGNAL_SAFE {
  const uint32_t count = cs_ring_thread_count_acquire(&cs_process.ring->header);
  while (from < count) {
    const uint64_t state = cs_ring_thread_state_acquire(&cs_process.ring->threads[from]);
    const bool is_awaited = state == CS_RING_STATE_WRITING || (state == CS_RING_STATE_ASKED && state == waited_for);
    if (is_awaited) break;
    from++;
  }
  return from;
}

// Waits until every thread has answered; or, with CS_RING_STATE_WRITING, every one that has begun.
static void wait_for(uint64_t waited_for, uint64_t deadline_ns) SIGNAL_SAFE {
  const uint32_t count = cs_ring_thread_count_acquire(&cs_process.ring->header);
  uint32_t done = 0;
  for (int attempt = 0; attempt < SLEEP_TRIES; attempt++) {
    done = count_of_answers(done, waited_for);
    if (done >= count || now_ns() >= deadline_ns) return;
    cs_sleep_ns(SLEEP_NS);
  }
}

// For those that have not answered, the kernel does; or only for those that cannot, because they block the signal.
static void note_silent(bool only_blocked, uint64_t deadline_ns) SIGNAL_SAFE {
  const uint32_t count = cs_ring_thread_count_acquire(&cs_process.ring->header);
  for (uint32_t index = 0; index < count; index++) {
    cs_ring_thread *thread = &cs_process.ring->threads[index];
    if (cs_ring_thread_state_acquire(thread) != CS_RING_STATE_ASKED) continue;
    cs_task_status status = {0};
    if (now_ns() < deadline_ns) cs_task_status_read(thread->record.tid, &status);
    // A thread that has come as far as our handler blocks the signal as well, but does not wait for it any more.
    const uint64_t waiting = status.blocked_signals & status.pending_signals;
    const bool is_blocked = (waiting & UINT64_C(1) << (SIGPROF - 1)) != 0;
    if ((only_blocked && !is_blocked) || !begin_to_write(thread)) continue;
    cs_ring_thread_record *record = &thread->record;
    record->answer = is_blocked ? CS_RING_ANSWER_BLOCKED : CS_RING_ANSWER_NONE;
    record->run_state = status.run_state;
    record->blocked_signals = status.blocked_signals;
    memcpy(record->name, status.name, sizeof record->name);
    if (status.run_state == 'R') __atomic_fetch_add(&running, 1, __ATOMIC_RELAXED);
    commit(thread);
  }
}

bool cs_sweep_found_running(void) SIGNAL_SAFE {
  return __atomic_load_n(&running, __ATOMIC_RELAXED) != 0;
}

bool cs_sweep(void) SIGNAL_SAFE {
  uint32_t nobody = 0;
  cs_kernel_action host;
  if (cs_process.sweep_ms == 0) return false;
  if (!__atomic_compare_exchange_n(&has_begun, &nobody, 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return false;
  if (cs_sigaction(SIGPROF, &cs_process.sweep_action, &host) != 0) return false;
  cs_ring_header *header = &cs_process.ring->header;
  const uint64_t start_ns = now_ns();
  const uint64_t deadline_ns = start_ns + cs_process.sweep_ms * NS_PER_MS;
  __atomic_store_n(&header->sweep, CS_RING_SWEEP_UNDER_WAY, __ATOMIC_RELAXED);

  ask_all(deadline_ns);
  const uint64_t soon_ns = now_ns() + SOON_NS;
  wait_for(CS_RING_STATE_ASKED, soon_ns < deadline_ns ? soon_ns : deadline_ns);
  // A thread that waits for signals blocks them all: no use in waiting for it.
  note_silent(true, deadline_ns);
  wait_for(CS_RING_STATE_ASKED, deadline_ns);
  // Ignoring a signal drops it wherever it is pending: with the host's own action back, often to end the process, a
  // thread that wakes up late must not find it.
  const cs_kernel_action ignored = {.handler = SIG_IGN};
  cs_sigaction(SIGPROF, &ignored, NULL);
  cs_sigaction(SIGPROF, &host, NULL);
  wait_for(CS_RING_STATE_WRITING, now_ns() + GRACE_NS);
  note_silent(false, now_ns() + STATUS_NS);

  header->sweep_ns = now_ns() - start_ns;
  // release: a reader that sees the end sees all that came before.
  __atomic_store_n(&header->sweep, CS_RING_SWEEP_DONE, __ATOMIC_RELEASE);
  return true;
}
