// Unwinds a crashing thread's stack into the frames of its record.
#ifndef CS_UNWIND_H
#define CS_UNWIND_H

#include "cfi.h"
#include "cs_ring.h"
#include "cs_shim.h"

// If a recursion is too deep for the record, only the innermost and the outermost frames are recorded.
#define CS_UNWIND_HEAD_LIMIT 128
#define CS_UNWIND_TAIL_LIMIT 64
// The maximum number of frames that are unwound: a stack of 8 MiB with frames of the smallest possible size (16 bytes)
// has so many. Unwinding all of them takes about 30 ms.
#define CS_UNWIND_STEP_LIMIT 524288

// The start of the list of async callers: the AsyncContext of the innermost async function on the stack.
typedef struct cs_async_start {
  uint64_t context;
  bool is_found;
} cs_async_start;

// The list that an unwind fills with frames. The first `head_limit` of the `limit` entries are for the innermost
// frames. The next `tail_limit` entries are for the outermost frames, and the remaining entries are for the async
// callers.
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

// Returns the list with which an unwind fills a crash record.
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

// Fills the list with the frames of the stack, beginning with the frame whose registers are `registers`. At any time
// during the unwind, the counts include only valid frames. If a second crash interrupts the unwind, the list is
// therefore still correct.
void cs_unwind(cs_cfi_scratch *scratch, const cs_ring_registers *registers, const cs_frame_list *list) SIGNAL_SAFE;

// Finds the image of each frame. Adds images that were loaded after the shield's start to the ring's table.
void cs_unwind_find_images(const cs_frame_list *list) SIGNAL_SAFE;

// If the function in scratch->function is async, finds its AsyncContext. `registers` are the registers in that
// function.
bool cs_async_context_of(cs_cfi_scratch *scratch, const uint64_t registers[CS_REGISTER_COUNT], bool is_exact,
                         uint64_t *ret_context) SIGNAL_SAFE;

// Appends a frame for each context of the linked list that starts at `context`. The frame's pc is the address where the
// context's parent resumes.
void cs_async_append(cs_cfi_scratch *scratch, uint64_t context, const cs_frame_list *list) SIGNAL_SAFE;

// stack.c: in a forked child, releases the working memory that other threads of the parent used.
void cs_stack_forget(void) SIGNAL_SAFE;

#endif
