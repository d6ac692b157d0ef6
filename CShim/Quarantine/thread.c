// What the quarantine keeps of each thread.
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "quarantine.h"
#include "ticks_x86_64.h"

// Its first object goes the slow way, which asks for the rest.
__thread cs_thread cs_this_thread __attribute__((tls_model("initial-exec"))) = {.countdown = 1};

// One object in so many goes to an explorer.
#define EXPLORED_1 20
#define TURNS      128

// Ends with each thread.
static pthread_key_t key;
static bool has_key;

// Out of 2^32: the probability that more objects than this come before the explorer's next one.
static uint32_t turns[TURNS];
// Of a lot, by its first six bits: how many of these are above all such lots.
static uint8_t guide[64];

// SplitMix64.
uint64_t cs_thread_random(void) {
  uint64_t value = cs_this_thread.random += UINT64_C(0x9E3779B97F4A7C15);
  value = (value ^ (value >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  value = (value ^ (value >> 27)) * UINT64_C(0x94D049BB133111EB);
  return value ^ (value >> 31);
}

uint32_t cs_thread_draw(void) {
  uint32_t turn = 1;
  for (uint32_t round = 0; round < 16; round++) {
    const uint32_t lot = (uint32_t)cs_thread_random();
    uint32_t first = guide[lot >> 26];
    while (first < TURNS && lot < turns[first])
      first++;
    turn += first;
    // Else longer than the table: it goes on as it began.
    if (first < TURNS) break;
  }
  return turn;
}

void cs_thread_learn(void) {
  pthread_attr_t attributes;
  void *lowest = NULL;
  size_t size = 0;
  const int error = errno;
  cs_thread *const thread = &cs_this_thread;
  const uint32_t number = (uint32_t)syscall(SYS_gettid);
  thread->random = cs_ticks() ^ (uint64_t)number << 32;
  // No frame lies within. So it stays where the question fails, as on a main thread without a descriptor left.
  thread->stack_start = UINTPTR_MAX;
  thread->stack_end = UINTPTR_MAX;
  thread->number = number;
  // Kept over a fork.
  if (thread->memos == NULL && has_key) {
    thread->memos = cs_memos_make();
    pthread_setspecific(key, thread->memos);
  }
  thread->countdown = cs_thread_draw();
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    if (pthread_attr_getstack(&attributes, &lowest, &size) == 0 && size > 4096) {
      thread->stack_start = (uintptr_t)lowest;
      thread->stack_end = thread->stack_start + size;
    }
    pthread_attr_destroy(&attributes);
  }
  errno = error;
}

// The thread ends. What it still releases has its stack walked.
static void free_memos(void *memos) {
  cs_this_thread.memos = NULL;
  free(memos);
}

static void forget_thread(void) {
  cs_this_thread.number = 0;
  cs_this_thread.countdown = 1;
}

// A forked child has one thread, with another number.
__attribute__((constructor)) static void prepare(void) {
  pthread_atfork(NULL, NULL, forget_thread);
  has_key = pthread_key_create(&key, free_memos) == 0;
  uint64_t probability = UINT32_MAX;
  for (uint32_t index = 0; index < TURNS; index++) {
    probability = probability * (EXPLORED_1 - 1) / EXPLORED_1;
    turns[index] = (uint32_t)probability;
  }
  for (uint32_t bits = 0; bits < sizeof guide; bits++) {
    const uint32_t last = bits << 26 | ((UINT32_C(1) << 26) - 1);
    while (guide[bits] < TURNS && last < turns[guide[bits]])
      guide[bits]++;
  }
}
