#include "cs_platform.h"

#if CS_SUPPORTED

#include "others.h"

#include "../Capture/capture.h"
#include "../Deliver/deliver.h"
#include "../Threads/halt.h"
#include "../Threads/sweep.h"
#include "../Threads/sweep_answer.h"
#include "../Threads/sweep_turn.h"
#include "cs_ring_access.h"
#include "state.h"
#include "watch.h"

// A thread whose record is committed waits at most 1 s (5000 × 0.2 ms) until the other crashing threads have delivered
// their crashes.
#define WAIT_TRIES    5000
#define WAIT_SLEEP_NS 200000

// Other threads that are running can be about to crash for the same reason as the first one. If they are not halted,
// because the process can survive the signal, the crashing thread waits for them at most 100 ms (200 × 0.5 ms). The
// wait ends early when no other thread has crashed for 20 ms (40 × 0.5 ms). The 20 ms allow for busy processors, which
// delay the other threads. If the sweep timeout is longer than the default, the 20 ms grow by the same factor.
#define OTHERS_TRIES    200
#define OTHERS_QUIET    40
#define OTHERS_SLEEP_NS 500000

// Before a thread halts the other threads, it waits at most 1 s (10,000 × 0.1 ms) for the end of another thread's
// sweep, because sweep and halt both use SIGPROF.
#define SWEEP_TRIES    10000
#define SWEEP_SLEEP_NS 100000

void cs_others_enter(const siginfo_t *information, const ucontext_t *context) SIGNAL_SAFE {
  if (cs_watch_enter(information)) cs_sweep_renew(context);
  // Sequentially consistent, like the access in cs_others_wait(): if two threads crash at the same time, at least one
  // reads the other's increment.
  __atomic_fetch_add(&cs_process.busy_count, 1, __ATOMIC_SEQ_CST);
}

static bool is_any_busy(void) SIGNAL_SAFE {
  return __atomic_load_n(&cs_process.busy_count, __ATOMIC_SEQ_CST) != 0;
}

void cs_others_wait(void) SIGNAL_SAFE {
  __atomic_fetch_sub(&cs_process.busy_count, 1, __ATOMIC_SEQ_CST);
  int left = WAIT_TRIES;
  for (uint32_t round = 0; round < CS_RING_SLOT_LIMIT; round++) {
    for (; left > 0 && is_any_busy(); left--)
      cs_sleep_ns(WAIT_SLEEP_NS);
    cs_deliver_copy();
    if (left == 0 || !is_any_busy()) return;
  }
}

static void wait_for_other_crashes(void) SIGNAL_SAFE {
  const cs_ring_header *header = &cs_process.ring->header;
  const uint32_t share = cs_process.sweep_ms / CS_SWEEP_DEFAULT_MS;
  const uint32_t patience = OTHERS_QUIET * (share > 1 ? share : 1);
  uint64_t seen = 0;
  uint32_t quiet = 0;
  for (int attempt = 0; attempt < OTHERS_TRIES && quiet < patience; attempt++) {
    const uint64_t count = cs_ring_counter(&header->slot_head) + cs_ring_counter(&header->slot_lost);
    const bool is_alone = __atomic_load_n(&cs_process.busy_count, __ATOMIC_SEQ_CST) <= 1;
    quiet = count == seen && is_alone ? quiet + 1 : 0;
    seen = count;
    cs_sleep_ns(OTHERS_SLEEP_NS);
  }
}

bool cs_others_halt(void) SIGNAL_SAFE {
  for (int attempt = 0; attempt < SWEEP_TRIES && cs_sweep_is_under_way(); attempt++)
    cs_sleep_ns(SWEEP_SLEEP_NS);
  return cs_halt_all();
}

void cs_others_sweep_and_halt(int signal, const siginfo_t *information) SIGNAL_SAFE {
  // The halt begins before the sweep. As a result, threads that the sweep interrupts stay halted and do not return to
  // the program.
  const bool halts = cs_capture_is_end(signal, information) && cs_halt_begin();
  const bool sweeps = cs_sweep_claim();
  const bool has_swept = sweeps && cs_sweep();
  const bool is_halted = halts ? cs_others_halt() : cs_halt_has_begun();
  if (has_swept) cs_deliver();
  if ((halts || sweeps) && !is_halted && (!has_swept || cs_sweep_found_running())) wait_for_other_crashes();
  if (sweeps) cs_sweep_release();
}

void cs_others_sweep(void) SIGNAL_SAFE {
  if (!cs_sweep_claim()) return;
  if (cs_sweep()) cs_deliver();
  cs_sweep_release();
}

#endif
