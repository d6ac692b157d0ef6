// Lists the frames between a trap and the start of the contained work, and determines whether the thread can be stopped
// forever in these frames.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "containment.h"

#include "../Capture/registers_here.h"
#include "../Unwind/unwind.h"

static bool is_in(const cs_contained_range *range, uint64_t pc) SIGNAL_SAFE {
  return range->start <= pc && pc < range->end;
}

cs_contained_place cs_contained_place_of(const cs_ring_frame *frame) SIGNAL_SAFE {
  const cs_contained_layout *const layout = &cs_contained_here;
  for (uint32_t index = 0; index < layout->image_count; index++) {
    if (!is_in(&layout->images[index], frame->pc)) continue;
    return layout->is_dispatch[index] ? CS_CONTAINED_DISPATCH : CS_CONTAINED_LIBC;
  }
  for (uint32_t index = 0; index < layout->function_count; index++) {
    if (frame->function_start != layout->function_start[index]) continue;
    return layout->has_once && index == 0 ? CS_CONTAINED_ONCE : CS_CONTAINED_CANCEL;
  }
  return is_in(&layout->concurrency, frame->pc) ? CS_CONTAINED_CONCURRENCY : CS_CONTAINED_PROGRAM;
}

// A trap can occur while the thread holds the lock of stdout, which other threads need: `print` calls the program's
// `description` with this lock.
bool cs_contained_has_stream(cs_memory *memory) SIGNAL_SAFE {
  const uint64_t self = cs_thread_pointer() + (uint64_t)cs_contained_here.self_offset;
  for (uint32_t index = 0; index < CS_CONTAINED_STREAM_COUNT; index++) {
    uint64_t owner = 0;
    if (!cs_memory_read_word(memory, cs_contained_here.stream_owner[index], &owner) || owner == self) return true;
  }
  return false;
}

uint32_t cs_contained_list(cs_cfi_scratch *scratch, const cs_ring_registers *registers, cs_ring_frame *frames,
                           uint32_t *ret_count, bool *ret_is_deep) SIGNAL_SAFE {
  uint32_t total = 0, head = 0, stop = 0, known = 0;
  const cs_frame_list list = {.frames = frames,
                              .head_limit = CS_CONTAINED_FRAME_LIMIT,
                              .tail_limit = 0,
                              .limit = CS_CONTAINED_FRAME_LIMIT + CS_CONTAINED_ASYNC_LIMIT,
                              .step_limit = CS_CONTAINED_FRAME_LIMIT,
                              .count = ret_count,
                              .total = &total,
                              .head = &head,
                              .stop = &stop};
  scratch->memory = (cs_memory){0};
  scratch->row_pc = 0;
  *ret_count = 0;
  cs_unwind(scratch, registers, &list);
  while (known < total && known < CS_CONTAINED_FRAME_LIMIT) {
    const uint8_t trust = frames[known].trust;
    if (trust != CS_RING_TRUST_CONTEXT && trust != CS_RING_TRUST_CFI) break;
    known++;
  }
  *ret_is_deep = stop == CS_UNWIND_STOP_LIMIT && known == CS_CONTAINED_FRAME_LIMIT;
  return known;
}

// Lists the frames from `registers` to the start of the work, and returns their number, or 0 if a frame is unknown. The
// async callers follow in the list. Stores the number of all listed frames in `ret_count`.
static uint32_t walk(cs_contained *work, const cs_ring_registers *registers, uint32_t *ret_count) SIGNAL_SAFE {
  bool is_deep = false;
  const uint32_t known = cs_contained_list(&work->scratch, registers, work->frames, ret_count, &is_deep);
  for (uint32_t index = 0; index < known; index++) {
    if (work->frames[index].function_start == work->begin) return index;
  }
  return 0;
}

// The outermost frames of the work belong to functions of the Swift runtime that call the task's code. Their number is
// the same each time the task resumes, so it is noted once.
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
  if (cs_contained_has_stream(&work->scratch.memory)) return 0;
  for (uint32_t index = 0; index < own; index++) {
    const cs_contained_place place = cs_contained_place_of(&work->frames[index]);
    if (place == CS_CONTAINED_PROGRAM) continue;
    // The outermost frames of the concurrency library are allowed, because they only run the work's task.
    if (place != CS_CONTAINED_CONCURRENCY || own - index > work->way) return 0;
  }
  return own;
}

#endif
