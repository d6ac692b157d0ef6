// The walk of a crashed thread's stack into the frames of its record.
#ifndef CS_UNWIND_H
#define CS_UNWIND_H

#include "cfi.h"
#include "cs_ring.h"
#include "cs_shim.h"

// Of a recursion too deep for the record the innermost and the outermost frames are kept.
#define CS_UNWIND_HEAD_LIMIT 128
#define CS_UNWIND_TAIL_LIMIT 64
// The smallest frames (16 bytes) in the default 8 MiB; some 30 ms.
#define CS_UNWIND_STEP_LIMIT 524288

// The Swift task that the walk met: where its AsyncContext is kept.
typedef struct cs_async_start {
  uint64_t context;
  bool is_found;
} cs_async_start;

// Where a walk puts its frames. Of `limit` places the first `head_limit` are for the innermost frames, the next
// `tail_limit` for the outermost, the rest for the async callers.
typedef struct cs_frame_list {
  cs_ring_frame *frames;
  uint32_t head_limit;
  uint32_t tail_limit;
  uint32_t limit;
  uint32_t step_limit;
  uint32_t *count;
  uint32_t *total;
  uint32_t *head;
  uint32_t *stop;
} cs_frame_list;

// Those of a crashed thread's record.
static inline cs_frame_list cs_record_frames(cs_ring_record *record) SIGNAL_SAFE {
  return (cs_frame_list){.frames = record->frames,
                         .head_limit = CS_UNWIND_HEAD_LIMIT,
                         .tail_limit = CS_UNWIND_TAIL_LIMIT,
                         .limit = CS_RING_FRAME_LIMIT,
                         .step_limit = CS_UNWIND_STEP_LIMIT,
                         .count = &record->frame_count,
                         .total = &record->frame_total,
                         .head = &record->frame_head,
                         .stop = &record->unwind_stop};
}

// Fills the list with the frames that lead to `registers`. At each moment its counts say how many frames are valid, so
// that a list that is cut short by a second crash is still right.
void cs_unwind(cs_cfi_scratch *scratch, const cs_ring_registers *registers, const cs_frame_list *list) SIGNAL_SAFE;

// Looks up the image of each frame, adding those that were loaded late to the ring's table.
void cs_unwind_find_images(const cs_frame_list *list) SIGNAL_SAFE;

// If the function that scratch->function describes is async, finds its context. `registers` are those in that function.
bool cs_async_context_of(cs_cfi_scratch *scratch, const uint64_t registers[CS_REGISTER_COUNT], bool is_exact,
                         uint64_t *ret_context) SIGNAL_SAFE;

// Appends the resume entries of the chain of contexts to the list.
void cs_async_append(cs_cfi_scratch *scratch, uint64_t context, const cs_frame_list *list) SIGNAL_SAFE;

// stack.c: in a forked child, forgets the working memories that other threads of its parent had.
void cs_stack_forget(void) SIGNAL_SAFE;

#endif
