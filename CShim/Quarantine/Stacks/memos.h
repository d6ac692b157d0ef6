// A cache of the stacks that a thread has recently unwound; an entry is called a memo. The result of an unwind depends
// only on the address of the first frame and on two words of each visited frame. If these words have not changed since
// an earlier unwind, its result is still valid. Comparing the words takes a third of the instructions that an unwind
// takes.
#ifndef CS_MEMOS_H
#define CS_MEMOS_H

#include "../Machine/pair_aarch64.h"
#include "../Machine/pair_x86_64.h"
#include "cs_callees.h"
#include "cs_quarantine.h"

#define CS_MEMOS 8 // entries for each thread; a power of two
// Two additional elements: one for the stack word that refers to an async function's context, and one for a repetition
// of the last frame.
#define CS_MEMO_FRAMES (CS_QUARANTINE_FRAMES + 2)

typedef struct cs_memo_frame {
  // The address of the two words: on this thread's stack, near or above the start of the unwind, where the stack is
  // still mapped. In the last elements, it is the address of an async context.
  const cs_pair *at;
  uint64_t reserved;
  cs_pair words; // the address of the next frame, and the return address
} cs_memo_frame;

typedef struct cs_memo {
  uintptr_t frame;          // 0: the entry is free
  const cs_memo_frame *end; // the end of the frames; if their number is odd, the last one is stored twice
  uint32_t number;          // the number of the stack in the table of stacks
  uint32_t contexts;        // the number of async contexts, which are stored from `end` on
  cs_memo_frame frames[CS_MEMO_FRAMES];
} cs_memo;

typedef struct cs_memos {
  cs_memo memos[CS_MEMOS];
} cs_memos;

static inline cs_memo *cs_memo_of(cs_memos *memos, uintptr_t frame) {
  return &memos->memos[frame / 16 % CS_MEMOS];
}

// Returns whether the async contexts are unchanged. Reading them is safe: the stack still refers to the first context,
// and each unchanged context to the next one, so all of them are still allocated.
READS_FRAMES static inline bool cs_memo_contexts_hold(const cs_memo *memo) {
  const cs_memo_frame *const contexts = memo->end;
#pragma clang loop unroll(disable)
  for (uint32_t index = 0; index < memo->contexts; index++) {
    if (!cs_pair_are_equal(cs_pair_compare(cs_pair_begin(), contexts[index].words, cs_pair_load(contexts[index].at))))
      return false;
  }
  return true;
}

READS_FRAMES static inline bool cs_memo_holds(const cs_memo *memo, uintptr_t frame) {
  if (memo->frame != frame) return false;
  cs_pair_result result = cs_pair_begin();
  const cs_memo_frame *at = memo->frames, *const end = memo->end;
#pragma clang loop unroll(disable)
  do {
    result = cs_pair_compare(result, at[0].words, cs_pair_load(at[0].at));
    result = cs_pair_compare(result, at[1].words, cs_pair_load(at[1].at));
    at += 2;
  } while (at != end);
  return cs_pair_are_equal(result) && (memo->contexts == 0 || cs_memo_contexts_hold(memo));
}

#endif
