#include "cs_platform.h"

#if CS_SUPPORTED

#include "drain.h"

#include <linux/futex.h>

#include "../Dispatch/state.h"
#include "../Dispatch/trusted.h"
#include "cs_ring_access.h"

// The maximum number of futex calls in one wait for a phase of the drain (drain.h). Each wake-up ends one call.
#define AWAIT_TRIES 1000

cs_containment cs_containment_now;

static uint32_t phase;         // atomic, a futex: cs_drain_phase
static uint32_t news;          // atomic, a futex: changes whenever the ender, the thread that ends the drain, must
                               // check the state
static uint32_t end_reason;    // atomic: cs_ring_drain_end
static uint32_t first;         // atomic: 1 + the index of the parked thread (park.h) whose trap ends the process; 0: no
                               // drain
static uint32_t had_crash;     // atomic
static uint32_t is_published;  // atomic: whether the ring shows the end of the drain
static uint64_t ended_before;  // the number of requests that had ended at the begin of the drain
static uint32_t trapped_after; // atomic: the number of requests that have trapped during the drain
static uint32_t waited_after;  // atomic: the number of requests whose threads parked during the drain because they
                               // waited for a parked thread

static void wake(const uint32_t *word) SIGNAL_SAFE {
  cs_system_call(SYS_futex, (long)word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT32_MAX, 0, 0, 0);
}

void cs_drain_forget(void) SIGNAL_SAFE {
  __atomic_store_n(&cs_containment_now.mode, CS_RING_CONTAINMENT_OFF, __ATOMIC_RELAXED);
  __atomic_store_n(&phase, CS_DRAIN_NONE, __ATOMIC_RELAXED);
  __atomic_store_n(&end_reason, CS_RING_DRAIN_NONE, __ATOMIC_RELAXED);
  __atomic_store_n(&first, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&had_crash, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&is_published, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&trapped_after, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&waited_after, 0, __ATOMIC_RELAXED);
}

cs_drain_phase cs_drain_phase_now(void) SIGNAL_SAFE {
  return (cs_drain_phase)__atomic_load_n(&phase, __ATOMIC_SEQ_CST);
}

uint32_t cs_drain_news(void) SIGNAL_SAFE {
  return __atomic_load_n(&news, __ATOMIC_SEQ_CST);
}

void cs_drain_news_add(void) SIGNAL_SAFE {
  __atomic_fetch_add(&news, 1, __ATOMIC_SEQ_CST);
  wake(&news);
}

void cs_drain_news_await(uint32_t seen, uint64_t at_most_ns) SIGNAL_SAFE {
  const struct timespec time = {.tv_sec = (time_t)(at_most_ns / 1000000000),
                                .tv_nsec = (long)(at_most_ns % 1000000000)};
  cs_system_call(SYS_futex, (long)&news, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, seen, (long)&time, 0, 0);
}

static bool advance(cs_drain_phase from, cs_drain_phase to) SIGNAL_SAFE {
  uint32_t seen = from;
  if (!__atomic_compare_exchange_n(&phase, &seen, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return false;
  wake(&phase);
  return true;
}

void cs_drain_await(cs_drain_phase wanted, uint64_t at_most_ns) SIGNAL_SAFE {
  const uint64_t end_ns = cs_clock_ns(CLOCK_MONOTONIC) + at_most_ns;
  for (int attempt = 0; attempt < AWAIT_TRIES; attempt++) {
    const uint32_t seen = __atomic_load_n(&phase, __ATOMIC_SEQ_CST);
    const uint64_t now_ns = cs_clock_ns(CLOCK_MONOTONIC);
    if (seen >= (uint32_t)wanted || now_ns >= end_ns) return;
    const uint64_t left_ns = end_ns - now_ns;
    const struct timespec time = {.tv_sec = (time_t)(left_ns / 1000000000), .tv_nsec = (long)(left_ns % 1000000000)};
    cs_system_call(SYS_futex, (long)&phase, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, seen, (long)&time, 0, 0);
  }
}

uint64_t cs_requests_ended(void) SIGNAL_SAFE {
  const cs_ring_header *header = &cs_process.ring->header;
  // acquire: pairs with the release increments at the ends of requests. A thread that counts the end of a request
  // therefore also counts its begin.
  return __atomic_load_n(&header->request_finished, __ATOMIC_ACQUIRE) +
         __atomic_load_n(&header->request_failed, __ATOMIC_ACQUIRE);
}

uint32_t cs_requests_in_flight(void) SIGNAL_SAFE {
  // The ends are read first, so that their number is never larger than that of the begins. A request that begins and
  // ends between the two reads counts as in flight.
  const uint64_t ended = cs_requests_ended();
  const uint64_t begun = cs_ring_counter(&cs_process.ring->header.request_begun);
  return begun > ended ? (uint32_t)(begun - ended) : 0;
}

bool cs_drain_begin(const cs_park *park) SIGNAL_SAFE {
  uint32_t none = 0;
  if (!__atomic_compare_exchange_n(&first, &none, cs_park_index(park) + 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    return false;
  }
  ended_before = cs_requests_ended();
  __atomic_store_n(&cs_process.ring->header.drain_begin_ns, cs_clock_ns(CLOCK_REALTIME), __ATOMIC_RELAXED);
  advance(CS_DRAIN_NONE, CS_DRAIN_DRAINS);
  cs_park_news_add();
  return true;
}

void cs_drain_begin_by(cs_park *park, cs_ring_verdict_reason reason) SIGNAL_SAFE {
  if (!cs_drain_begin(park)) return;
  park->reason = reason;
  cs_park_order(park, CS_PARK_RECORD);
}

cs_park *cs_drain_first(void) SIGNAL_SAFE {
  const uint32_t found = __atomic_load_n(&first, __ATOMIC_SEQ_CST);
  return found == 0 ? NULL : cs_park_at(found - 1);
}

void cs_drain_note_record(const cs_park *park, uint64_t ticket) SIGNAL_SAFE {
  if (__atomic_load_n(&first, __ATOMIC_SEQ_CST) != cs_park_index(park) + 1) return;
  __atomic_store_n(&cs_process.ring->header.drain_sequence, ticket + 1, __ATOMIC_RELAXED);
}

void cs_drain_note_trapped(uint32_t requests, bool is_waiter) SIGNAL_SAFE {
  if (cs_drain_phase_now() == CS_DRAIN_NONE) return;
  __atomic_fetch_add(is_waiter ? &waited_after : &trapped_after, requests, __ATOMIC_RELAXED);
}

bool cs_drain_end(cs_ring_drain_end end) SIGNAL_SAFE {
  uint32_t none = CS_RING_DRAIN_NONE;
  if (cs_drain_phase_now() == CS_DRAIN_NONE) return false;
  if (!__atomic_compare_exchange_n(&end_reason, &none, end, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return false;
  cs_ring_header *header = &cs_process.ring->header;
  const uint32_t waited = __atomic_load_n(&waited_after, __ATOMIC_RELAXED);
  const uint32_t failed = __atomic_load_n(&trapped_after, __ATOMIC_RELAXED) + waited;
  const uint64_t ended = cs_requests_ended() - ended_before;
  __atomic_store_n(&header->drain_finished, ended > failed ? (uint32_t)ended - failed : 0, __ATOMIC_RELAXED);
  __atomic_store_n(&header->drain_lost, cs_requests_in_flight() + waited, __ATOMIC_RELAXED);
  cs_drain_news_add();
  return true;
}

cs_ring_drain_end cs_drain_reason(void) SIGNAL_SAFE {
  return (cs_ring_drain_end)__atomic_load_n(&end_reason, __ATOMIC_SEQ_CST);
}

void cs_drain_publish(void) SIGNAL_SAFE {
  cs_ring_header *header = &cs_process.ring->header;
  if (__atomic_exchange_n(&is_published, 1, __ATOMIC_SEQ_CST) != 0) return;
  __atomic_store_n(&header->drain_end_ns, cs_clock_ns(CLOCK_REALTIME), __ATOMIC_RELAXED);
  // release: a reader that reads the end also reads the other fields of the drain.
  __atomic_store_n(&header->drain_end, cs_drain_reason(), __ATOMIC_RELEASE);
}

void cs_drain_note_crash(bool is_fault) SIGNAL_SAFE {
  if (is_fault) __atomic_store_n(&had_crash, 1, __ATOMIC_RELAXED);
  if (cs_drain_phase_now() == CS_DRAIN_NONE) return;
  cs_drain_end(CS_RING_DRAIN_CRASH);
  cs_drain_publish();
}

bool cs_drain_had_crash(void) SIGNAL_SAFE {
  return __atomic_load_n(&had_crash, __ATOMIC_RELAXED) != 0;
}

void cs_drain_tell(void) SIGNAL_SAFE {
  if (advance(CS_DRAIN_DRAINS, CS_DRAIN_TELLS)) cs_park_news_add();
}

void cs_drain_note_told(void) SIGNAL_SAFE {
  advance(CS_DRAIN_TELLS, CS_DRAIN_TOLD);
}

void cs_drain_let_go(void) SIGNAL_SAFE {
  __atomic_store_n(&phase, CS_DRAIN_ENDS, __ATOMIC_SEQ_CST);
  wake(&phase);
  cs_park *park = cs_drain_first();
  if (park != NULL) cs_park_order(park, CS_PARK_LEAVE);
}

#endif
