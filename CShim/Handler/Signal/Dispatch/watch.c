#include "cs_platform.h"

#if CS_SUPPORTED

#include "watch.h"

#include "../Kernel/system_call.h"

#include <linux/futex.h>

// A flag in `inside`. The watchdog sets it when it is about to end the process: no thread is then allowed to leave the
// handler.
#define CLOSED UINT32_C(0x80000000)
// The maximum number of attempts to change `inside` with a compare-and-exchange. An attempt fails if another thread
// enters or leaves the handler at the same time.
#define DOOR_TRIES 1000
// If CLOSED is set, a thread that wants to leave the handler waits at most 60 s (60 × 1 s) for the end of the process.
#define STAY_TRIES    60
#define STAY_SLEEP_NS 999999999

typedef struct watch {
  uint32_t inside;       // atomic, a futex: the number of threads in the handler, and the flag CLOSED
  int tid;               // atomic: the watchdog's thread ID
  uint32_t rounds;       // atomic: how many times the watchdog has begun to sleep
  siginfo_t information; // the signal of the thread that entered when no other thread was in the handler
} watch;

static watch now;

static void sleep_while(const void *word, uint32_t value, const struct timespec *at_most) SIGNAL_SAFE {
  cs_system_call(SYS_futex, (long)word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, value, (long)at_most, 0, 0);
}

static void wake(const void *word) SIGNAL_SAFE {
  cs_system_call(SYS_futex, (long)word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, 0, 0, 0);
}

bool cs_watch_enter(const siginfo_t *information) SIGNAL_SAFE {
  // Sequentially consistent, like the watchdog's load of `inside`. The watchdog sleeps only if `inside` is 0, so it
  // cannot miss this thread.
  if (__atomic_fetch_add(&now.inside, 1, __ATOMIC_SEQ_CST) != 0) return false;
  now.information = *information; // not atomic: the watchdog reads it only at the deadline
  wake(&now.inside);
  return true;
}

// The watchdog is ending the process, so this thread waits in the handler for the end, at most 60 s.
static void stay_until_end(void) SIGNAL_SAFE {
  for (int attempt = 0; attempt < STAY_TRIES; attempt++)
    cs_sleep_ns(STAY_SLEEP_NS);
}

void cs_watch_leave(void) SIGNAL_SAFE {
  uint32_t seen = __atomic_load_n(&now.inside, __ATOMIC_SEQ_CST);
  for (int attempt = 0; attempt < DOOR_TRIES && (seen & CLOSED) == 0; attempt++) {
    // If the count is already 0, a subtraction would wrap around and set CLOSED.
    if (seen == 0) return;
    if (__atomic_compare_exchange_n(&now.inside, &seen, seen - 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return;
  }
  if ((seen & CLOSED) != 0) stay_until_end();
  __atomic_fetch_sub(&now.inside, 1, __ATOMIC_SEQ_CST);
}

bool cs_watch_close(void) SIGNAL_SAFE {
  uint32_t seen = __atomic_load_n(&now.inside, __ATOMIC_SEQ_CST);
  for (int attempt = 0; attempt < DOOR_TRIES && seen != 0; attempt++) {
    const uint32_t closed = seen | CLOSED;
    if (__atomic_compare_exchange_n(&now.inside, &seen, closed, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return true;
  }
  return seen != 0;
}

void cs_watch_wake(void) SIGNAL_SAFE {
  wake(&now.inside);
}

void cs_watch_await(void) SIGNAL_SAFE {
  const struct timespec patience = {.tv_sec = 1};
  if (__atomic_load_n(&now.tid, __ATOMIC_RELAXED) == 0) sleep_while(&now.tid, 0, &patience);
}

void cs_watch_forget(void) SIGNAL_SAFE {
  __atomic_store_n(&now.inside, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&now.tid, 0, __ATOMIC_RELAXED);
}

uint32_t cs_watch_rounds(void) SIGNAL_SAFE {
  return __atomic_load_n(&now.rounds, __ATOMIC_SEQ_CST);
}

bool cs_watch_is_empty(void) SIGNAL_SAFE {
  return __atomic_load_n(&now.inside, __ATOMIC_SEQ_CST) == 0;
}

const siginfo_t *cs_watch_first(void) SIGNAL_SAFE {
  return &now.information;
}

void cs_watch_start(void) SIGNAL_SAFE {
  __atomic_store_n(&now.tid, cs_gettid(), __ATOMIC_RELAXED);
  wake(&now.tid);
}

void cs_watch_note_round(void) SIGNAL_SAFE {
  __atomic_fetch_add(&now.rounds, 1, __ATOMIC_SEQ_CST);
}

void cs_watch_sleep(const struct timespec *at_most) SIGNAL_SAFE {
  sleep_while(&now.inside, 0, at_most);
}

#endif
