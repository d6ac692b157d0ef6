#include "cs_platform.h"

#if CS_SUPPORTED

#include "../../Handler/Signal/Capture/registers.h"
#include "../Machine/words.h"
#include "cs_callees.h"
#include "cs_return_address.h"
#include "memos.h"
#include "stacks.h"
#include "thread.h"

#define STACKS        8192 // a power of two
#define STACKS_PROBES 16
// The maximum number of entries for the stacks of releases. The other entries are for the stacks of use-after-free
// accesses, which are rare.
#define STACKS_OF_RELEASES (STACKS / 8 * 7)

typedef struct kept_stack {
  _Atomic uint64_t hash;  // 0: the entry is free
  _Atomic uint32_t count; // 0: a thread is writing the entry
  uint32_t reserved;
  uint64_t frames[CS_QUARANTINE_FRAMES];
} kept_stack;

static kept_stack stacks[STACKS];
static _Atomic uint32_t kept_count;
_Atomic uint32_t cs_stacks_are_on = 1;

static inline uint64_t mix(uint64_t hash, uint64_t frame) {
  const __uint128_t product = (__uint128_t)(hash ^ frame) * UINT64_C(0x9E3779B97F4A7C15);
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static bool is_same(const kept_stack *kept, uint32_t count, const uint64_t *frames) {
  if (atomic_load_explicit(&kept->count, memory_order_acquire) != count) return false;
  return cs_words_equal(kept->frames, frames, count);
}

__attribute__((noinline)) static uint32_t keep(uint64_t hash, uint32_t count, const uint64_t *frames, bool is_use) {
  for (uint32_t probe = 0; probe < STACKS_PROBES; probe++) {
    const uint32_t index = (uint32_t)((hash >> 1) + probe) % STACKS;
    kept_stack *const kept = &stacks[index];
    uint64_t found = atomic_load_explicit(&kept->hash, memory_order_acquire);
    if (found == 0 && !is_use && atomic_load_explicit(&kept_count, memory_order_relaxed) >= STACKS_OF_RELEASES)
      return 0;
    if (found == 0 && atomic_compare_exchange_strong(&kept->hash, &found, hash)) {
      for (uint32_t frame = 0; frame < count; frame++)
        kept->frames[frame] = frames[frame];
      // release: pairs with the acquire loads in is_same() and cs_stack_read().
      atomic_store_explicit(&kept->count, count, memory_order_release);
      atomic_fetch_add_explicit(&kept_count, 1, memory_order_relaxed);
      return index + 1;
    }
    // If another thread is writing the same stack now, this thread uses another entry, or no entry if all are in use.
    if (found == hash && is_same(kept, count, frames)) return index + 1;
  }
  return 0;
}

// Swift can set this bit in the frame pointer that an async function saves on the stack.
#define ASYNC_FRAME (UINT64_C(1) << 60)

// A cache that shows whether the function at a return address is async. An entry contains the return address, and the
// answer in the highest bit. 0: the entry is free.
#define ANSWERS    512 // a power of two
#define ANSWER_YES (UINT64_C(1) << 63)
static _Atomic uint64_t answers[ANSWERS];

__attribute__((cold, noinline)) static bool ask_whether_async(uint64_t address, _Atomic uint64_t *answer) {
  const bool is_async = cs_function_is_async(address - 1);
  atomic_store_explicit(answer, address | (is_async ? ANSWER_YES : 0), memory_order_relaxed);
  return is_async;
}

static inline bool is_async(uint64_t address) {
  _Atomic uint64_t *const answer = &answers[(address ^ address >> 9) % ANSWERS];
  const uint64_t known = atomic_load_explicit(answer, memory_order_relaxed);
  if (__builtin_expect((known & ~ANSWER_YES) == address, true)) return (known & ANSWER_YES) != 0;
  return ask_whether_async(address, answer);
}

typedef struct walk {
  uint64_t hash;
  uint32_t count;
  uint32_t stack_count;       // number of frames on the stack; the other frames are contexts of async functions
  const uint64_t *context_at; // the stack word that refers to the first context; NULL: there are no contexts
  const uint64_t *at[CS_QUARANTINE_FRAMES];
  uint64_t addresses[CS_QUARANTINE_FRAMES];
} walk;

static walk empty_walk(void) {
  return (walk){.hash = UINT64_C(0x243F6A8885A308D3)};
}

static void add(walk *walk, const uint64_t *at, uint64_t address) {
  walk->at[walk->count] = at;
  walk->addresses[walk->count++] = address;
  walk->hash = mix(walk->hash, address);
}

// Follows the contexts of an async function to its async callers. A context starts with two words: the address of the
// caller's context, and the address at which the caller continues. The contexts stay allocated while the async function
// runs. The second word is the address of a function's first instruction, and not a return address. This code stores
// the address plus 1, because readers of a stack subtract 1 from each address.
READS_FRAMES static void walk_contexts(uint64_t context, walk *walk) {
  while (walk->count < CS_QUARANTINE_FRAMES && context >= 4096 && context % 8 == 0 && context >> CS_ADDRESS_BITS == 0) {
    const uint64_t *const pair = (const uint64_t *)(uintptr_t)context;
    if (pair[1] < 4096 || pair[1] >> CS_ADDRESS_BITS != 0) break;
    add(walk, pair, pair[1] + 1);
    if (pair[0] == context) break;
    context = pair[0];
  }
}

// Stores the return addresses, beginning with the frame at `at`. Each frame must be above the previous frame and on
// this thread's stack. After the frame of an async function, the stack contains only the functions that run its task.
// Instead of them, stores the async callers, which are not on the stack.
READS_FRAMES static void walk_from(uintptr_t at, walk *ret_walk) {
  const cs_thread *const thread = cs_thread_known();
  const uintptr_t end = thread->stack_end - 2 * sizeof(uint64_t);
  *ret_walk = empty_walk();
  // The stacks of fibers and alternate signal stacks are outside of the thread's bounds, so no frame on them is read.
  if (at < thread->stack_start || at >= end || at % 8 != 0) return;
  while (ret_walk->count < CS_QUARANTINE_FRAMES) {
    const uint64_t *const pair = (const uint64_t *)at;
    const uint64_t address = cs_return_address(pair[1]);
    if (address < 4096) break;
    add(ret_walk, pair, address);
    ret_walk->stack_count = ret_walk->count;
    const uintptr_t next = pair[0] & ~ASYNC_FRAME;
    if (next <= at || next >= end || next % 8 != 0) break;
    at = next;
    if (!is_async(address)) continue;
    ret_walk->context_at = (const uint64_t *)at - 1;
    walk_contexts(*ret_walk->context_at, ret_walk);
    break;
  }
}

// Stores the result of an unwind in the thread's cache. Precondition: the result has at least one frame.
READS_FRAMES static void remember(cs_memo *memo, const walk *walk, uint32_t number) {
  const uint64_t *words[CS_MEMO_FRAMES];
  uint32_t count = 0;
  for (uint32_t index = 0; index < walk->stack_count; index++)
    words[count++] = walk->at[index];
  if (walk->context_at != NULL) words[count++] = walk->context_at;
  if (count % 2 != 0) words[count] = words[count - 1];
  count += count % 2;
  memo->frame = (uintptr_t)walk->at[0];
  memo->number = number;
  memo->end = memo->frames + count;
  for (uint32_t index = walk->stack_count; index < walk->count; index++)
    words[count++] = walk->at[index];
  memo->contexts = walk->count - walk->stack_count;
  for (uint32_t index = 0; index < count; index++) {
    cs_memo_frame *const frame = &memo->frames[index];
    frame->at = (const void *)words[index];
    frame->words = cs_pair_load(frame->at);
  }
}

__attribute__((cold, noinline)) static uint32_t take(uintptr_t frame, bool is_use) {
  walk walk;
  walk_from(frame, &walk);
  if (walk.count == 0) return 0;
  const uint32_t number = keep(walk.hash | 1, walk.count, walk.addresses, is_use);
  cs_memos *const memos = cs_thread_known()->memos;
  if (number != 0 && memos != NULL) remember(cs_memo_of(memos, frame), &walk, number);
  return number;
}

uint32_t cs_stack_take(const void *frame, bool is_use) {
  cs_memos *const memos = cs_this_thread.memos;
  if (memos == NULL) return take((uintptr_t)frame, is_use);
  const cs_memo *const memo = cs_memo_of(memos, (uintptr_t)frame);
  return cs_memo_holds(memo, (uintptr_t)frame) ? memo->number : take((uintptr_t)frame, is_use);
}

uint32_t cs_stack_of_context(uint64_t context) {
  walk walk = empty_walk();
  walk_contexts(context, &walk);
  return walk.count == 0 ? 0 : keep(walk.hash | 1, walk.count, walk.addresses, true);
}

void cs_stack_read(uint32_t number, cs_quarantine_stack *ret_stack) SIGNAL_SAFE {
  ret_stack->count = 0;
  if (number == 0 || number > STACKS) return;
  const kept_stack *const kept = &stacks[number - 1];
  const uint32_t found = atomic_load_explicit(&kept->count, memory_order_acquire);
  // The count exceeds CS_QUARANTINE_FRAMES only if other code has overwritten the table. Even then, the signal handler
  // must not read past the array.
  const uint32_t count = found < CS_QUARANTINE_FRAMES ? found : CS_QUARANTINE_FRAMES;
  for (uint32_t index = 0; index < count; index++)
    ret_stack->frames[index] = kept->frames[index];
  ret_stack->count = count;
}

void cs_stack_read_whole(uint32_t number, cs_quarantine_stack *ret_stack) SIGNAL_SAFE {
  cs_quarantine_stack stack;
  cs_stack_read(number, &stack);
  ret_stack->count = cs_callees_add(stack.frames, stack.count, false, ret_stack->frames, CS_QUARANTINE_FRAMES);
}

void cs_quarantine_here(cs_quarantine_stack *ret_stack) {
  cs_stack_read(cs_stack_take(__builtin_frame_address(0), true), ret_stack);
  ret_stack->thread = cs_thread_known()->number;
}

READS_FRAMES uint64_t cs_quarantine_caller(void) {
  const cs_thread *const thread = cs_thread_known();
  const uintptr_t end = thread->stack_end - 2 * sizeof(uint64_t);
  const uintptr_t own = (uintptr_t)__builtin_frame_address(0);
  if (own < thread->stack_start || own >= end) return 0;
  const uintptr_t callers = ((const uint64_t *)own)[0] & ~ASYNC_FRAME;
  if (callers <= own || callers >= end || callers % 8 != 0) return 0;
  return cs_return_address(((const uint64_t *)callers)[1]);
}

void cs_quarantine_stack_bounds(uintptr_t *ret_start, uintptr_t *ret_end) {
  const cs_thread *const thread = cs_thread_known();
  *ret_start = thread->stack_start;
  *ret_end = thread->stack_end;
}

#endif
