// Lists the frames between a trap and the start of its work, and determines whether a thread may be stopped forever in
// them.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "containment.h"

#include "../Capture/registers_here_x86_64.h"
#include "../Unwind/unwind.h"

static bool is_in(const cs_contained_range *range, uint64_t pc) SIGNAL_SAFE {
  return range->start <= pc && pc < range->end;
}

static bool may_be_stopped_in(const cs_ring_frame *frame) SIGNAL_SAFE {
  const cs_contained_layout *const layout = &cs_contained_here;
  for (uint32_t index = 0; index < layout->image_count; index++) {
    if (is_in(&layout->images[index], frame->pc)) return false;
  }
  for (uint32_t index = 0; index < layout->function_count; index++) {
    if (frame->function_start == layout->function_start[index]) return false;
  }
  return true;
}

// Returns whether this thread holds the lock of a standard stream, which other threads need. `print` calls the
// program's `description` while `print` holds the lock of stdout.
static bool has_stream(cs_memory *memory) SIGNAL_SAFE {
  const uint64_t self = cs_thread_pointer();
  for (uint32_t index = 0; index < CS_CONTAINED_STREAM_COUNT; index++) {
    uint64_t owner = 0;
    if (!cs_memory_read_word(memory, cs_contained_here.stream_owner[index], &owner) || owner == self) return true;
  }
  return false;
}

// Lists the frames from `registers` to the start of the work, and returns their number. Returns 0 if a frame is
// unknown. The async frames follow in the list, and `ret_count` is the number of all frames.
static uint32_t walk(cs_contained *work, const cs_ring_registers *registers, uint32_t *ret_count) SIGNAL_SAFE {
  uint32_t total = 0, head = 0, stop = 0;
  const cs_frame_list list = {.frames = work->frames,
                              .head_limit = CS_CONTAINED_FRAME_LIMIT,
                              .tail_limit = 0,
                              .limit = CS_CONTAINED_FRAME_LIMIT + CS_CONTAINED_ASYNC_LIMIT,
                              .step_limit = CS_CONTAINED_FRAME_LIMIT,
                              .count = ret_count,
                              .total = &total,
                              .head = &head,
                              .stop = &stop};
  work->scratch.memory = (cs_memory){0};
  work->scratch.row_pc = 0;
  *ret_count = 0;
  cs_unwind(&work->scratch, registers, &list);
  for (uint32_t index = 0; index < total && index < CS_CONTAINED_FRAME_LIMIT; index++) {
    const cs_ring_frame *frame = &work->frames[index];
    if (frame->trust != CS_RING_TRUST_CONTEXT && frame->trust != CS_RING_TRUST_CFI) return 0;
    if (frame->function_start == work->begin) return index;
  }
  return 0;
}

// The outermost frames belong to the functions of the Swift runtime that call the task's code. Their number is the same
// each time the task resumes.
void cs_contained_note_way(cs_contained *work, const cs_ring_registers *registers) SIGNAL_SAFE {
  uint32_t count = 0;
  const uint32_t own = walk(work, registers, &count);
  for (uint32_t index = 0; index < own; index++) {
    if (!is_in(&cs_contained_here.concurrency, work->frames[index].pc)) continue;
    work->way = own - index;
    return;
  }
}

uint32_t cs_contained_way_of_trap(cs_contained *work, const cs_ring_registers *registers,
                                  uint32_t *ret_count) SIGNAL_SAFE {
  const uint32_t own = walk(work, registers, ret_count);
  if (has_stream(&work->scratch.memory)) return 0;
  for (uint32_t index = 0; index < own; index++) {
    const cs_ring_frame *frame = &work->frames[index];
    if (!may_be_stopped_in(frame)) return 0;
    if (own - index > work->way && is_in(&cs_contained_here.concurrency, frame->pc)) return 0;
  }
  return own;
}

#endif
