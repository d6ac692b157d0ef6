// The queue of free slots, implemented as Dmitry Vyukov's bounded queue for several producers and consumers. Each queue
// entry has a number (`turn`), which shows whether the next operation fills or empties the entry. A thread that stops
// in the middle of an operation does not block other threads. If the stopped thread's entry is the next one in the
// queue, the other threads find no slot, and malloc forwards their allocations to the next allocator.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "pages.h"

#define PLACES 8192 // a power of two; there are fewer slots

_Static_assert(PLACES > CS_PAGES_SLOT_LIMIT, "each slot has an entry");

typedef struct place {
  // PLACES × the number of times that this queue entry was filled and emptied, plus 1 while the entry is filled.
  uint64_t turn; // atomic
  uint32_t index;
  uint32_t reserved;
} place;

static place places[PLACES];
static uint64_t head; // atomic: the next entry to empty
static uint64_t tail; // atomic: the next entry to fill

void cs_page_pool_clear(void) SIGNAL_SAFE {
  for (uint32_t index = 0; index < PLACES; index++)
    places[index].turn = 0;
  head = tail = 0;
}

// A ticket is a value of `head` or `tail`; its entry is places[ticket % PLACES]. Returns the value of `turn` at which
// this entry can be filled. Filling the entry adds 1 to `turn`, and the entry can then be emptied.
static uint64_t turn_of(uint64_t ticket) SIGNAL_SAFE {
  return ticket / PLACES * PLACES;
}

bool cs_page_pool_put(uint32_t index) SIGNAL_SAFE {
  uint64_t ticket = __atomic_load_n(&tail, __ATOMIC_RELAXED);
  for (int attempt = 0; attempt < PLACES; attempt++) {
    place *at = &places[ticket % PLACES];
    const uint64_t turn = __atomic_load_n(&at->turn, __ATOMIC_ACQUIRE);
    if (turn == turn_of(ticket)) {
      if (!__atomic_compare_exchange_n(&tail, &ticket, ticket + 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) continue;
      at->index = index;
      // release: pairs with the acquire load of cs_page_pool_take().
      __atomic_store_n(&at->turn, turn + 1, __ATOMIC_RELEASE);
      return true;
    }
    if (turn < turn_of(ticket) || turn == turn_of(ticket) + 1) {
      const uint64_t now = __atomic_load_n(&tail, __ATOMIC_RELAXED);
      if (now == ticket) return false; // the queue is full
      ticket = now;
      continue;
    }
    ticket = __atomic_load_n(&tail, __ATOMIC_RELAXED);
  }
  return false;
}

bool cs_page_pool_take(uint32_t *ret_index) SIGNAL_SAFE {
  uint64_t ticket = __atomic_load_n(&head, __ATOMIC_RELAXED);
  for (int attempt = 0; attempt < PLACES; attempt++) {
    place *at = &places[ticket % PLACES];
    const uint64_t turn = __atomic_load_n(&at->turn, __ATOMIC_ACQUIRE);
    if (turn == turn_of(ticket) + 1) {
      if (!__atomic_compare_exchange_n(&head, &ticket, ticket + 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) continue;
      *ret_index = at->index;
      // release: pairs with the acquire load of cs_page_pool_put().
      __atomic_store_n(&at->turn, turn_of(ticket) + PLACES, __ATOMIC_RELEASE);
      return true;
    }
    if (turn <= turn_of(ticket)) return false; // the queue is empty, or another thread is filling the entry
    ticket = __atomic_load_n(&head, __ATOMIC_RELAXED);
  }
  return false;
}

#endif
