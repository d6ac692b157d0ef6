#include "cs_platform.h"

#if CS_SUPPORTED

#include "park.h"

#include <linux/futex.h>

#include "../Dispatch/trusted.h"
#include "../Kernel/system_call.h"

static cs_park parks[CS_PARK_LIMIT];
static uint32_t count; // atomic: the number of entries up to the last one that was ever used
static uint32_t news;  // atomic, a futex

static void wake(const uint32_t *word) SIGNAL_SAFE {
  cs_system_call(SYS_futex, (long)word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT32_MAX, 0, 0, 0);
}

static uint32_t state_of(const cs_park *park) SIGNAL_SAFE {
  // acquire: pairs with the release store of cs_park_tell().
  return __atomic_load_n(&park->state, __ATOMIC_ACQUIRE);
}

void cs_parks_forget(void) SIGNAL_SAFE {
  for (uint32_t index = 0; index < cs_park_count(); index++)
    __atomic_store_n(&parks[index].state, CS_PARK_FREE, __ATOMIC_RELAXED);
  __atomic_store_n(&count, 0, __ATOMIC_RELAXED);
}

static void raise_count(uint32_t wanted) SIGNAL_SAFE {
  uint32_t seen = __atomic_load_n(&count, __ATOMIC_RELAXED);
  for (uint32_t attempt = 0; attempt < CS_PARK_LIMIT && seen < wanted; attempt++) {
    if (__atomic_compare_exchange_n(&count, &seen, wanted, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return;
  }
}

cs_park *cs_park_take(int tid) SIGNAL_SAFE {
  for (uint32_t index = 0; index < CS_PARK_LIMIT; index++) {
    uint32_t free = CS_PARK_FREE;
    cs_park *park = &parks[index];
    if (!__atomic_compare_exchange_n(&park->state, &free, CS_PARK_JUDGING, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
      continue;
    }
    raise_count(index + 1);
    __atomic_store_n(&park->command, CS_PARK_WAIT, __ATOMIC_RELAXED);
    park->verdict = CS_RING_VERDICT_NONE;
    park->reason = CS_RING_VERDICT_REASON_NONE;
    park->is_waiter = park->is_worker = park->is_loop = park->must_answer = false;
    park->pc = park->place = park->handle = park->number = 0;
    park->message.bytes = 0;
    park->context = NULL;
    park->seat = NULL;
    __atomic_store_n(&park->tid, tid, __ATOMIC_RELAXED);
    return park;
  }
  return NULL;
}

void cs_park_give_back(cs_park *park) SIGNAL_SAFE {
  __atomic_store_n(&park->tid, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&park->state, CS_PARK_FREE, __ATOMIC_RELEASE);
}

bool cs_park_refuse(cs_park *park) SIGNAL_SAFE {
  uint32_t judging = CS_PARK_JUDGING;
  return __atomic_compare_exchange_n(&park->state, &judging, CS_PARK_REFUSED, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED);
}

bool cs_park_is_refused(const cs_park *park) SIGNAL_SAFE {
  return state_of(park) == CS_PARK_REFUSED;
}

cs_park *cs_park_before_stay(int tid) SIGNAL_SAFE {
  for (uint32_t index = 0; index < cs_park_count(); index++) {
    cs_park *park = &parks[index];
    // relaxed: the calling thread searches for its own ID, which it stored itself.
    if (__atomic_load_n(&park->tid, __ATOMIC_RELAXED) != tid) continue;
    const uint32_t state = state_of(park);
    if (state == CS_PARK_JUDGING || state == CS_PARK_REFUSED) return park;
  }
  return NULL;
}

uint32_t cs_park_count(void) SIGNAL_SAFE {
  return __atomic_load_n(&count, __ATOMIC_ACQUIRE);
}

cs_park *cs_park_at(uint32_t index) SIGNAL_SAFE {
  return state_of(&parks[index]) == CS_PARK_STAYS ? &parks[index] : NULL;
}

uint32_t cs_park_index(const cs_park *park) SIGNAL_SAFE {
  return (uint32_t)(park - parks);
}

cs_park *cs_park_of(int tid) SIGNAL_SAFE {
  for (uint32_t index = 0; index < cs_park_count(); index++) {
    cs_park *park = cs_park_at(index);
    if (park != NULL && __atomic_load_n(&park->tid, __ATOMIC_RELAXED) == tid) return park;
  }
  return NULL;
}

uint32_t cs_park_traps_at(uint64_t place) SIGNAL_SAFE {
  uint32_t traps = 0;
  for (uint32_t index = 0; index < cs_park_count(); index++) {
    const cs_park *park = cs_park_at(index);
    traps += park != NULL && !park->is_waiter && park->place == place;
  }
  return traps;
}

void cs_park_tell(cs_park *park) SIGNAL_SAFE {
  park->told_ns = cs_clock_ns(CLOCK_MONOTONIC);
  __atomic_store_n(&park->is_answered, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&park->state, CS_PARK_STAYS, __ATOMIC_RELEASE);
  cs_park_news_add();
}

cs_park_command cs_park_stay(cs_park *park, cs_park_command command) SIGNAL_SAFE {
  uint32_t found = command;
  cs_contained_block_signals();
  // The loop repeats only after a spurious wake-up. If a seccomp filter refused futex, the loop would spin, but under
  // such a filter, programs do not work at all.
  while ((found = __atomic_load_n(&park->command, __ATOMIC_ACQUIRE)) == (uint32_t)command)
    cs_system_call(SYS_futex, (long)&park->command, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, command, 0, 0, 0);
  return (cs_park_command)found;
}

void cs_park_order(cs_park *park, cs_park_command command) SIGNAL_SAFE {
  uint32_t seen = __atomic_load_n(&park->command, __ATOMIC_RELAXED);
  // A command is never replaced by a smaller one, so LEAVE is final.
  for (int attempt = 0; attempt < CS_PARK_LIMIT && seen < (uint32_t)command; attempt++) {
    if (__atomic_compare_exchange_n(&park->command, &seen, command, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) break;
  }
  wake(&park->command);
}

uint32_t cs_park_news(void) SIGNAL_SAFE {
  return __atomic_load_n(&news, __ATOMIC_SEQ_CST);
}

void cs_park_news_add(void) SIGNAL_SAFE {
  __atomic_fetch_add(&news, 1, __ATOMIC_SEQ_CST);
  wake(&news);
}

void cs_park_news_await(uint32_t seen, const struct timespec *at_most) SIGNAL_SAFE {
  cs_system_call(SYS_futex, (long)&news, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, seen, (long)at_most, 0, 0);
}

#endif
