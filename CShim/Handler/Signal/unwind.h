// The walk of a crashed thread's stack into the frames of its record.
#ifndef CS_UNWIND_H
#define CS_UNWIND_H

#include "cfi.h"
#include "cs_ring.h"
#include "cs_shim.h"

// Of a recursion too deep for the record the innermost and the outermost frames are kept.
#define CS_UNWIND_HEAD_LIMIT  128
#define CS_UNWIND_TAIL_LIMIT  64
#define CS_UNWIND_ASYNC_LIMIT (CS_RING_FRAME_LIMIT - CS_UNWIND_HEAD_LIMIT - CS_UNWIND_TAIL_LIMIT)
// The smallest frames (16 bytes) in the default 8 MiB; some 30 ms.
#define CS_UNWIND_STEP_LIMIT 524288

// The Swift task that the walk met: where its AsyncContext is kept.
typedef struct cs_async_start {
  uint64_t context;
  bool is_found;
} cs_async_start;

// Fills frames, counts and the stop reason of `record` from record->registers. At each moment the record says how many
// of its frames are valid, so that one that is cut short by a second crash is still right.
void cs_unwind(cs_cfi_scratch *scratch, cs_ring_record *record) SIGNAL_SAFE;

// Looks up the image of each frame, adding those that were loaded late to the ring's table.
void cs_unwind_find_images(cs_ring_record *record) SIGNAL_SAFE;

// If the function that scratch->function describes is async, finds its context. `registers` are those in that function.
bool cs_async_context_of(cs_cfi_scratch *scratch, const uint64_t registers[CS_REGISTER_COUNT], bool is_exact,
                         uint64_t *ret_context) SIGNAL_SAFE;

// Appends the resume entries of the chain of contexts to the record's frames.
void cs_async_append(cs_cfi_scratch *scratch, uint64_t context, cs_ring_record *record) SIGNAL_SAFE;

#endif
