#include "cs_platform.h"

#if CS_SUPPORTED

#include "news.h"

#include "../Dispatch/state.h"
#include "../Kernel/system_call.h"
#include "../Threads/own_threads.h"

// The bits of `news`.
#define NEW 1u // an incident was recorded, and no message about it was sent to crashd yet
// The listener (news.h) pauses. After the pause, it sends a message without a signal if there are new incidents.
#define HELD 2u

// cs_news_ignore() waits at most 100 × 1 ms for threads that are about to send the signal to the listener.
#define RING_TRIES    100
#define RING_SLEEP_NS 1000000

static uint32_t news;    // atomic: bits
static uint32_t ringers; // atomic: the number of threads that may be using the listener's thread ID
static int32_t listener; // atomic: the thread ID of the connection's thread; 0: none

// Ordering: all accesses are sequentially consistent. The recorder (the thread that records an incident) writes the
// incident's entry, and then writes `news`. The listener writes `news`, and then sends a message to crashd, which reads
// the entries. At least one of the two threads therefore reads the other's write. The pairs `listener` and `news`, and
// `ringers` and `listener`, are used in the same way: each thread writes one variable of the pair before it reads the
// other.

static void show(uint32_t is_listened_to) SIGNAL_SAFE {
  __atomic_store_n(&cs_process.ring->header.announces_incidents, is_listened_to, __ATOMIC_RELAXED);
}

static void ring(void) SIGNAL_SAFE {
  __atomic_add_fetch(&ringers, 1, __ATOMIC_SEQ_CST);
  const int tid = __atomic_load_n(&listener, __ATOMIC_SEQ_CST);
  if (tid != 0) {
    const bool has_rung = cs_system_call(SYS_tgkill, cs_getpid(), tid, CS_OWN_BELL, 0, 0, 0) == 0;
    // Sending the signal can fail, for example because the signal queue is full or a seccomp filter refuses the call.
    // In this case, the ring shows that crashd must poll for incidents, and the next incident tries again.
    show(has_rung);
    uint32_t only = NEW;
    if (!has_rung) __atomic_compare_exchange_n(&news, &only, 0, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  }
  __atomic_sub_fetch(&ringers, 1, __ATOMIC_SEQ_CST);
}

void cs_news_add(void) SIGNAL_SAFE {
  // The fence orders the store of the entry before the load of `news`. Without the fence, the processor could execute
  // the load first.
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if ((__atomic_load_n(&news, __ATOMIC_SEQ_CST) & NEW) != 0) return;
  if (__atomic_fetch_or(&news, NEW, __ATOMIC_SEQ_CST) == 0) ring();
}

bool cs_news_take(void) SIGNAL_SAFE {
  uint32_t found = HELD;
  const bool has_nothing =
      __atomic_compare_exchange_n(&news, &found, 0, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) || found == 0;
  if (has_nothing) return false;
  __atomic_store_n(&news, HELD, __ATOMIC_SEQ_CST);
  return true;
}

void cs_news_listen(int tid) SIGNAL_SAFE {
  __atomic_store_n(&listener, tid, __ATOMIC_SEQ_CST);
  show(1);
}

void cs_news_ignore(void) SIGNAL_SAFE {
  __atomic_store_n(&listener, 0, __ATOMIC_SEQ_CST);
  // If a signal handler of the program left ring() with siglongjmp(), `ringers` stays above 0. The wait is therefore
  // limited, and `ringers` is set to 0 afterward.
  for (int attempt = 0; attempt < RING_TRIES && __atomic_load_n(&ringers, __ATOMIC_SEQ_CST) != 0; attempt++)
    cs_sleep_ns(RING_SLEEP_NS);
  __atomic_store_n(&ringers, 0, __ATOMIC_SEQ_CST);
  // The ring's field is written only after the last signal was sent, because ring() also writes this field.
  show(0);
}

void cs_news_forget(void) SIGNAL_SAFE {
  __atomic_store_n(&news, 0, __ATOMIC_SEQ_CST);
  __atomic_store_n(&listener, 0, __ATOMIC_SEQ_CST);
  __atomic_store_n(&ringers, 0, __ATOMIC_SEQ_CST);
}

#endif
