// Finds the functions of the Swift runtime that run a task on a thread of the pool (pool.h). The judge (judge.h)
// compares the stack of a trapping thread with these functions.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <pthread.h>
#include <stdlib.h>

#include "../../Signal/Capture/registers_here.h"
#include "../../Signal/Containment/drain.h"
#include "../../Signal/Containment/judge.h"
#include "../setup.h"
#include "containment_start.h"
#include "pool.h"

// This function of the runtime runs a job: it calls the function that resumes the job's task.
extern void swift_job_run(void *job, void *executor, const void *executor_table) __attribute__((weak));

typedef struct working_memory {
  cs_cfi_scratch scratch;
  cs_ring_registers registers;
  cs_ring_frame frames[CS_CONTAINED_FRAME_LIMIT + CS_CONTAINED_ASYNC_LIMIT];
} working_memory;

static uint32_t is_done; // atomic

static uint32_t index_of(const working_memory *memory, uint32_t from, uint32_t known, uint64_t start) {
  uint32_t index = from;
  while (index < known && memory->frames[index].function_start != start)
    index++;
  return index;
}

// Stores the start addresses of functions on the stack, from the function that calls the task to the thread's outermost
// function. Without the pool, the thread belongs to Dispatch, and only the function that calls the task is stored.
// Returns false if swift_job_run or, with the pool, cs_seat_run is not on the stack.
static bool note_way(working_memory *memory) {
  uint32_t count = 0;
  bool is_deep = false;
  const uint32_t known = cs_contained_list(&memory->scratch, &memory->registers, memory->frames, &count, &is_deep);
  const uint32_t run = index_of(memory, 1, known, (uint64_t)(uintptr_t)swift_job_run);
  const bool has_pool = cs_containment_now.has_pool;
  const uint32_t last = has_pool ? index_of(memory, run, known, cs_seat_run_start) : run;
  if (run >= known || last >= known || last - (run - 1) >= CS_JUDGE_WAY_LIMIT) return false;
  const uint32_t way_count = has_pool ? last - (run - 1) + 1 : 1;
  for (uint32_t index = 0; index < way_count; index++)
    cs_judge_here.way[index] = memory->frames[run - 1 + index].function_start;
  if (cs_judge_here.way[0] == 0) return false;
  // release: pairs with the acquire load of the handler.
  __atomic_store_n(&cs_judge_here.way_count, way_count, __ATOMIC_RELEASE);
  return true;
}

// Returns whether the handler reads the current executor correctly: this task runs on no actor, so it must read that
// the thread has no serial executor.
static bool finds_executor(void) {
  uint64_t executor = 0;
  return cs_task_executor_read(&cs_process.task_layout, &executor) && executor == 0;
}

static void probe(void) {
  working_memory *memory = calloc(1, sizeof *memory);
  if (memory == NULL) return;
  cs_registers_here(&memory->registers);
  const bool has_way = note_way(memory);
  free(memory);
  if (!has_way) {
    cs_containment_refuse(CS_RING_OBSTACLE_RUNNER);
  } else if (!finds_executor()) {
    cs_containment_refuse(CS_RING_OBSTACLE_EXECUTOR);
  } else {
    cs_containment_allow();
  }
}

void cs_shim_contained_probe(void) {
  uint32_t none = 0;
  if (__atomic_load_n(&is_done, __ATOMIC_RELAXED) != 0 || cs_containment_mode() == CS_RING_CONTAINMENT_OFF) return;
  // If the process has a pool, cs_seat_run() is only on the stacks of the pool's threads. The other tasks run on an
  // executor of the program.
  if (cs_containment_now.has_pool && cs_seat_here() == NULL) return;
  if (__atomic_compare_exchange_n(&is_done, &none, 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) probe();
}

#endif
