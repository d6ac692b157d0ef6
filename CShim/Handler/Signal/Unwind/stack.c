// Unwinds the calling thread's stack for events that are not crashes: incidents and allocations.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "../Capture/registers_here.h"
#include "../Dispatch/trusted.h"
#include "cs_shim.h"
#include "unwind.h"

// The maximum number of concurrent unwinds. Their working memory is static, because it is too large for a stack. If all
// of it is in use, the caller gets no frames.
#define WALKS 16

// Space for the requested frames and for the shield's own functions, which are removed later.
#define FRAMES_LIMIT (CS_RING_INCIDENT_FRAME_LIMIT + 8)
// Additional space for the async callers.
#define ASYNC_LIMIT CS_RING_INCIDENT_FRAME_LIMIT

static cs_cfi_scratch scratches[WALKS];
static uint32_t taken[WALKS]; // atomic

static cs_cfi_scratch *take(uint32_t *ret_index) SIGNAL_SAFE {
  for (uint32_t index = 0; index < WALKS; index++) {
    uint32_t free = 0;
    if (!__atomic_compare_exchange_n(&taken[index], &free, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) continue;
    *ret_index = index;
    return &scratches[index];
  }
  return NULL;
}

void cs_stack_forget(void) SIGNAL_SAFE {
  for (uint32_t index = 0; index < WALKS; index++)
    __atomic_store_n(&taken[index], 0, __ATOMIC_RELEASE);
}

static bool is_async(const cs_ring_frame *frame) SIGNAL_SAFE {
  return frame->function_start != 0 && cs_function_is_async(frame->function_start);
}

// Copies the program counters, beginning with the frame whose pc is `first`. If no frame has this pc, copies the
// program counters of all frames. The frames after an async function's frame belong to the executor that runs the
// function's task, so the async callers of the function replace them. The pc of an async caller, the first instruction
// that it will execute, is increased by 1: the users of the list treat every address as a return address and subtract
// 1.
static size_t copy(const cs_ring_frame *frames, uint32_t count, uint64_t first, uint64_t *ret_pcs,
                   size_t limit) SIGNAL_SAFE {
  uint32_t from = 0, waiting = count;
  for (uint32_t index = 0; index < count && from == 0; index++) {
    if (frames[index].pc == first) from = index;
  }
  while (waiting > 0 && (frames[waiting - 1].flags & CS_RING_FRAME_ASYNC) != 0)
    waiting--;
  size_t written = 0;
  for (uint32_t index = from; index < waiting && written < limit; index++) {
    ret_pcs[written++] = frames[index].pc;
    if (waiting < count && is_async(&frames[index])) break;
  }
  for (uint32_t index = waiting; index < count && written < limit; index++)
    ret_pcs[written++] = frames[index].pc + 1;
  return written;
}

static size_t walk(const cs_ring_registers *registers, uint64_t first, uint64_t *ret_pcs, size_t limit) SIGNAL_SAFE {
  cs_ring_frame frames[FRAMES_LIMIT + ASYNC_LIMIT];
  uint32_t index = 0, count = 0, total = 0, head = 0, stop = 0;
  cs_cfi_scratch *scratch = take(&index);
  if (scratch == NULL) return 0;
  scratch->memory = (cs_memory){0};
  scratch->row_pc = 0;
  const cs_frame_list list = {.frames = frames,
                              .head_limit = FRAMES_LIMIT,
                              .tail_limit = 0,
                              .limit = FRAMES_LIMIT + ASYNC_LIMIT,
                              .step_limit = FRAMES_LIMIT,
                              .count = &count,
                              .total = &total,
                              .head = &head,
                              .stop = &stop};
  cs_unwind(scratch, registers, &list);
  __atomic_store_n(&taken[index], 0, __ATOMIC_RELEASE);
  return copy(frames, count, first, ret_pcs, limit);
}

__attribute__((noinline)) size_t cs_shim_stack_here(uint64_t first, uint64_t *ret_pcs, size_t limit) SIGNAL_SAFE {
  cs_ring_registers registers;
  memset(&registers, 0, sizeof registers);
  cs_registers_here(&registers);
  return walk(&registers, first, ret_pcs, limit);
}

size_t cs_shim_stack_of(const void *context, uint64_t *ret_pcs, size_t limit) SIGNAL_SAFE {
  cs_ring_registers registers;
  memset(&registers, 0, sizeof registers);
  cs_registers_from_context(context, &registers);
  return walk(&registers, 0, ret_pcs, limit);
}

#endif
