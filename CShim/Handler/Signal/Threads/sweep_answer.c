// The part of a sweep that runs on each thread that did not crash: it writes the thread's own stack to the ring.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "sweep_answer.h"

#include "../Dispatch/state.h"
#include "../Dispatch/trusted.h"
#include "../Unwind/unwind.h"
#include "cs_ring_access.h"
#include "halt.h"
#include "sweep_turn.h"

// The maximum numbers of innermost and of outermost frames that one thread's answer contains. The rest of the frame
// array is for async callers.
#define HEAD_LIMIT 96
#define TAIL_LIMIT 24
// The maximum number of frames that the unwind of one answer visits. Unwinding this many frames takes half a
// millisecond.
#define STEP_LIMIT 4096

static uint32_t running; // atomic: the number of threads that were running when the sweep's signal reached them

// The working memory for the unwinds, one element for each signaled thread. Unused pages need no memory.
static cs_cfi_scratch scratches[CS_RING_THREAD_LIMIT];
static int answering_tid[CS_RING_THREAD_LIMIT]; // the ID of the thread that is answering in each slot; 0: none

void cs_sweep_note_running(void) SIGNAL_SAFE {
  __atomic_fetch_add(&running, 1, __ATOMIC_RELAXED);
}

void cs_sweep_forget_running(void) SIGNAL_SAFE {
  __atomic_store_n(&running, 0, __ATOMIC_RELAXED);
}

void cs_sweep_forget_answers(void) SIGNAL_SAFE {
  cs_sweep_forget_running();
  memset(answering_tid, 0, sizeof answering_tid);
}

bool cs_sweep_found_running(void) SIGNAL_SAFE {
  return __atomic_load_n(&running, __ATOMIC_RELAXED) != 0;
}

// Returns the slot of the ring that the sweep has assigned to this thread. The signal's value contains the slot's index
// as a hint. If a profiler's SIGPROF was already pending, the kernel may deliver only that one, which has no hint.
static cs_ring_thread *place_of(int tid, const siginfo_t *information) SIGNAL_SAFE {
  cs_ring *ring = cs_process.ring;
  const uint32_t count = cs_thread_count(ring);
  const uint32_t hint = (uint32_t)information->si_value.sival_int;
  if (information->si_code == SI_QUEUE && hint < count && ring->threads[hint].record.tid == tid) {
    return &ring->threads[hint];
  }
  for (uint32_t index = 0; index < count; index++) {
    if (ring->threads[index].record.tid == tid) return &ring->threads[index];
  }
  return NULL;
}

static void answer(const siginfo_t *information, const ucontext_t *context) SIGNAL_SAFE {
  const uint64_t asked = cs_sweep_state(CS_RING_STATE_ASKED);
  const int tid = cs_gettid();
  cs_ring_thread *thread = place_of(tid, information);
  if (thread == NULL || !cs_sweep_begin_to_write(thread, asked)) return;
  const size_t index = (size_t)(thread - cs_process.ring->threads);
  __atomic_store_n(&answering_tid[index], tid, __ATOMIC_RELAXED);
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
  // The thread did not fault now, so the fault data in the kernel's context belongs to an earlier fault and is cleared.
  record->registers.error_code = record->registers.trap_number = record->registers.fault_address = 0;
  cs_thread_name((char *)record->name);
  if (cs_task_read(&cs_process.task_layout, &record->task_id, &record->task_priority, record->task_name,
                   &record->task_name_bytes)) {
    record->flags = CS_RING_RECORD_TASK;
  }
  // The working memory can contain data of an earlier sweep, from images that are not loaded any more.
  scratches[index].memory = (cs_memory){0};
  scratches[index].row_pc = 0;
  cs_unwind(&scratches[index], &record->registers, &frames);
  cs_unwind_find_images(&frames);
  if (!cs_registers_show_waiting(&record->registers)) cs_sweep_note_running();
  record->answer = CS_RING_ANSWER_WHOLE;
  cs_sweep_commit(thread);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  // After the commit, another sweep can already have assigned the slot to another thread. The exchange therefore clears
  // the thread ID only if it is still this thread's.
  int self = tid;
  __atomic_compare_exchange_n(&answering_tid[index], &self, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void cs_sweep_answer(int signal, siginfo_t *information, void *context) SIGNAL_SAFE {
  (void)signal;
  if (cs_getpid() != cs_process.pid) return;
  answer(information, context);
  cs_halt_here(context);
}

bool cs_sweep_is_answering(int tid) SIGNAL_SAFE {
  for (uint32_t index = 0; cs_sweep_has_begun() && index < CS_RING_THREAD_LIMIT; index++) {
    // relaxed: the calling thread searches for its own ID, which it stored itself.
    if (__atomic_load_n(&answering_tid[index], __ATOMIC_RELAXED) == tid) return true;
  }
  return false;
}

#endif
