// Stacks by number: equal ones are kept once, and what a number means never changes. So no record can show the stack of
// somebody else. A table that is full gives 0, "not known".
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "quarantine.h"

#define STACKS        8192 // a power of two
#define STACKS_PROBES 16
// Of releases; the rest is for uses, of which there are few.
#define STACKS_OF_RELEASES (STACKS / 8 * 7)

typedef struct kept_stack {
  _Atomic uint64_t hash;  // 0: free
  _Atomic uint32_t count; // 0: being written
  uint32_t reserved;
  uint64_t frames[CS_QUARANTINE_FRAMES];
} kept_stack;

static kept_stack stacks[STACKS];
static _Atomic uint32_t kept_count;
_Atomic uint32_t cs_stacks_are_on = 1;

// Of this thread. A frame pointer is believed only within these bounds.
static __thread uintptr_t stack_start;
static __thread uintptr_t stack_end; // 0: not asked yet
__thread uint32_t cs_thread_known;

__attribute__((cold, noinline)) static void learn_thread(void) {
  pthread_attr_t attributes;
  void *lowest = NULL;
  size_t size = 0;
  const int error = errno;
  cs_thread_known = (uint32_t)syscall(SYS_gettid);
  // No frame lies within. So it stays where the question fails, as on a main thread without a descriptor left.
  stack_start = UINTPTR_MAX;
  stack_end = UINTPTR_MAX;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    if (pthread_attr_getstack(&attributes, &lowest, &size) == 0 && size > 4096) {
      stack_start = (uintptr_t)lowest;
      stack_end = stack_start + size;
    }
    pthread_attr_destroy(&attributes);
  }
  errno = error;
}

static void forget_thread(void) {
  cs_thread_known = 0;
  stack_end = 0;
}

// A forked child has one thread, with another number.
__attribute__((constructor)) static void prepare(void) {
  pthread_atfork(NULL, NULL, forget_thread);
}

uint32_t cs_thread_learn(void) {
  learn_thread();
  return cs_thread_known;
}

static inline uint64_t mix(uint64_t hash, uint64_t frame) {
  const __uint128_t product = (__uint128_t)(hash ^ frame) * UINT64_C(0x9E3779B97F4A7C15);
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static bool is_same(const kept_stack *kept, uint32_t count, const uint64_t *frames) {
  if (atomic_load_explicit(&kept->count, memory_order_acquire) != count) return false;
  for (uint32_t index = 0; index < count; index++) {
    if (kept->frames[index] != frames[index]) return false;
  }
  return true;
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
      // release: pairs with is_same and cs_stack_read.
      atomic_store_explicit(&kept->count, count, memory_order_release);
      atomic_fetch_add_explicit(&kept_count, 1, memory_order_relaxed);
      return index + 1;
    }
    // Another thread may still be writing the same stack: then this one gets another place, or none.
    if (found == hash && is_same(kept, count, frames)) return index + 1;
  }
  return 0;
}

uint32_t cs_stack_take(const void *frame, bool is_use) {
  if (stack_end == 0) learn_thread();
  uint64_t frames[CS_QUARANTINE_FRAMES];
  uint64_t hash = UINT64_C(0x243F6A8885A308D3);
  uint32_t count = 0;
  uintptr_t at = (uintptr_t)frame;
  const uintptr_t end = stack_end - 2 * sizeof(uint64_t);
  // Fibres and alternate stacks lie elsewhere: no step is made there.
  if (at < stack_start) return 0;
  while (count < CS_QUARANTINE_FRAMES && at % 8 == 0 && at < end) {
    const uint64_t *const pair = (const uint64_t *)at;
    // Swift marks the saved frame pointer of an async function by bit 60.
    const uintptr_t next = pair[0] & ~(UINT64_C(1) << 60);
    if (pair[1] < 4096) break;
    frames[count++] = pair[1];
    hash = mix(hash, pair[1]);
    if (next <= at) break;
    at = next;
  }
  if (count == 0) return 0;
  const uint64_t key = hash | 1;
  const kept_stack *const likely = &stacks[(uint32_t)(key >> 1) % STACKS];
  if (atomic_load_explicit(&likely->hash, memory_order_acquire) == key && is_same(likely, count, frames)) {
    return (uint32_t)(key >> 1) % STACKS + 1;
  }
  return keep(key, count, frames, is_use);
}

void cs_stack_read(uint32_t number, cs_quarantine_stack *ret_stack) {
  ret_stack->count = 0;
  if (number == 0 || number > STACKS) return;
  const kept_stack *const kept = &stacks[number - 1];
  const uint32_t count = atomic_load_explicit(&kept->count, memory_order_acquire);
  for (uint32_t index = 0; index < count && index < CS_QUARANTINE_FRAMES; index++) {
    ret_stack->frames[index] = kept->frames[index];
  }
  ret_stack->count = count;
}

void cs_quarantine_here(cs_quarantine_stack *ret_stack) {
  cs_stack_read(cs_stack_take(__builtin_frame_address(0), true), ret_stack);
  ret_stack->thread = cs_thread_number();
}
