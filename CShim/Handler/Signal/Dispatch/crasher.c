#include "cs_platform.h"

#if CS_SUPPORTED

#include "crasher.h"

#include "../FaultInjection/fault_injection.h"
#include "cs_ring_access.h"
#include "state.h"
#include "trusted.h"

static cs_crasher crashers[CS_RING_SLOT_LIMIT];

// Element n is the ID of the thread that is in the handler and writes to slot n, or 0. The array is separate from the
// large entries: each crash searches the IDs, and a search of the entries would touch one page for each entry.
static int crashing_tid[CS_RING_SLOT_LIMIT];

// A ticket is a number that each record gets in order, and that selects the record's slot. This variable is 1 + the
// ticket of a record that was withdrawn, because the program survived the fault; 0: none. The next pending record
// (crasher.h) reuses this ticket. Without this reuse, a program that recovers from many faults would use up all slots.
static uint64_t spare; // atomic

void cs_crasher_forget_all(void) SIGNAL_SAFE {
  memset(crashing_tid, 0, sizeof crashing_tid);
  __atomic_store_n(&spare, 0, __ATOMIC_RELAXED);
  memset(&crashers[0], 0, sizeof crashers[0]); // prefaults the entry that the first crash uses
}

cs_crasher *cs_crasher_of(int tid) SIGNAL_SAFE {
  for (uint32_t index = 0; index < CS_RING_SLOT_LIMIT; index++) {
    // relaxed: a thread that uses the entry searches for its own ID, which it stored itself. A search for the ID of
    // another thread only tests whether that thread is in the handler.
    if (__atomic_load_n(&crashing_tid[index], __ATOMIC_RELAXED) == tid) return &crashers[index];
  }
  return NULL;
}

static bool is_taken(uint64_t ticket) SIGNAL_SAFE {
  // acquire: pairs with the release store in cs_crasher_release().
  return __atomic_load_n(&crashing_tid[ticket % CS_RING_SLOT_LIMIT], __ATOMIC_ACQUIRE) != 0;
}

static uint64_t draw_ticket(bool is_pending) SIGNAL_SAFE {
  cs_ring *ring = cs_process.ring;
  const uint64_t found = is_pending ? __atomic_exchange_n(&spare, 0, __ATOMIC_RELAXED) : 0;
  // A withdrawn ticket is not reused if the process has survived a crash since: the new record would seem to belong to
  // that crash. It is also not reused if a thread with a later ticket has used the same slot.
  if (found > __atomic_load_n(&ring->header.survived, __ATOMIC_RELAXED)) {
    const uint64_t ticket = found - 1;
    const uint64_t withdrawn = (ticket / CS_RING_SLOT_LIMIT + 1) << 2 | CS_RING_STATE_FREE;
    const uint64_t *state = &ring->slots[ticket % CS_RING_SLOT_LIMIT].state;
    if (__atomic_load_n(state, __ATOMIC_RELAXED) == withdrawn) return ticket;
  }
  return __atomic_fetch_add(&ring->header.slot_head, 1, __ATOMIC_RELAXED);
}

// Takes a ticket and claims its slot. Takes another ticket if a thread that uses this slot is still in the handler.
// Overwrites the slot's committed record, which is the oldest one. Otherwise, the records of signals that the process
// survived would fill the ring. Concurrency: this thread can stall after its first call of is_taken(). Meanwhile, a
// thread with a later ticket can claim the slot and commit, and can still be in the handler. The second call of
// is_taken() detects that thread, because that thread stored its thread ID before it committed the state that the
// exchange has read.
static bool take_slot(bool is_pending, uint64_t *ret_ticket) SIGNAL_SAFE {
  cs_ring *ring = cs_process.ring;
  for (uint32_t attempt = 0; attempt < CS_RING_SLOT_LIMIT; attempt++) {
    const uint64_t ticket = draw_ticket(is_pending);
    if (is_taken(ticket)) continue;
    cs_inject_here(CS_INJECT_CLAIM);
    uint64_t *state = &ring->slots[ticket % CS_RING_SLOT_LIMIT].state;
    uint64_t seen = __atomic_load_n(state, __ATOMIC_RELAXED);
    if ((seen & CS_RING_STATE_MASK) == CS_RING_STATE_WRITING) continue;
    // A pending record can be withdrawn, so it must not overwrite another record.
    if (is_pending && (seen & CS_RING_STATE_MASK) != CS_RING_STATE_FREE) continue;
    uint64_t wanted = (ticket / CS_RING_SLOT_LIMIT + 1) << 2 | CS_RING_STATE_WRITING;
    // acquire: no later write of this thread to the slot becomes visible before the new state. Pairs with a reader's
    // second read of the state.
    if (__atomic_compare_exchange_n(state, &seen, wanted, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
      if (is_taken(ticket)) {
        __atomic_compare_exchange_n(state, &wanted, seen, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
        continue;
      }
      __atomic_thread_fence(__ATOMIC_RELEASE);
      // `seen` is the state that the exchange replaced. relaxed: no other access depends on this counter.
      if ((seen & CS_RING_STATE_MASK) == CS_RING_STATE_COMMITTED) {
        __atomic_fetch_add(&ring->header.slot_overwritten, 1, __ATOMIC_RELAXED);
      }
      *ret_ticket = ticket;
      return true;
    }
  }
  if (!is_pending) __atomic_fetch_add(&ring->header.slot_lost, 1, __ATOMIC_RELAXED);
  return false;
}

static cs_crasher *claim(int tid, int signal, const siginfo_t *information, ucontext_t *context, bool is_pending,
                         bool is_watched) SIGNAL_SAFE {
  uint64_t ticket = 0;
  if (!take_slot(is_pending, &ticket)) return NULL;
  const uint64_t index = ticket % CS_RING_SLOT_LIMIT;
  cs_crasher *crasher = &crashers[index];
  crasher->tid = tid;
  crasher->depth = 0;
  crasher->is_counted = true;
  crasher->is_pending = is_pending;
  crasher->is_watched = is_watched;
  crasher->is_at_commit = false;
  crasher->committer = CS_COMMITTER_NONE;
  crasher->signal = signal;
  crasher->context = context;
  crasher->has_own_table = false;
  crasher->next_spare = 0;
  crasher->information = *information;
  crasher->ticket = ticket;
  crasher->slot = &cs_process.ring->slots[index];
  crasher->scratch.memory = (cs_memory){0};
  crasher->scratch.row_pc = 0;
  // After this store, a second crash of this thread finds the slot. The record is cleared only after the store, because
  // clearing can fault: the kernel can have no memory for a new page of the ring. That fault must count as a second
  // crash of this thread. release: pairs with the acquire load of cs_crasher_at().
  __atomic_store_n(&crashing_tid[index], tid, __ATOMIC_RELEASE);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  memset(&crasher->slot->record, 0, sizeof crasher->slot->record);
  memset(&crasher->slot->request, 0, sizeof crasher->slot->request);
  crasher->slot->record.sequence = ticket;
  return crasher;
}

cs_crasher *cs_crasher_claim(int tid, int signal, const siginfo_t *information, ucontext_t *context) SIGNAL_SAFE {
  return claim(tid, signal, information, context, false, true);
}

cs_crasher *cs_crasher_claim_pending(int tid, const siginfo_t *information, ucontext_t *context,
                                     bool is_watched) SIGNAL_SAFE {
  return claim(tid, information->si_signo, information, context, true, is_watched);
}

void cs_crasher_take_sequence(cs_crasher *crasher, uint64_t sequence) SIGNAL_SAFE {
  const bool is_of_this_crash = sequence >= __atomic_load_n(&cs_process.ring->header.survived, __ATOMIC_RELAXED);
  if (is_of_this_crash && sequence < crasher->ticket) crasher->slot->record.sequence = sequence;
}

cs_crasher *cs_crasher_at(uint32_t index) SIGNAL_SAFE {
  // acquire: pairs with the release store in cs_crasher_claim().
  return __atomic_load_n(&crashing_tid[index], __ATOMIC_ACQUIRE) != 0 ? &crashers[index] : NULL;
}

bool cs_crasher_is_writing(const cs_crasher *crasher) SIGNAL_SAFE {
  const uint64_t state = __atomic_load_n(&crasher->slot->state, __ATOMIC_RELAXED);
  return (state & CS_RING_STATE_MASK) == CS_RING_STATE_WRITING;
}

static bool settle(const cs_pending *pending, uint64_t to) SIGNAL_SAFE {
  if (pending->slot == NULL) return false;
  uint64_t seen = pending->state;
  const uint64_t wanted = (seen & ~(uint64_t)CS_RING_STATE_MASK) | to;
  // If another crash has claimed the slot, the state has changed and the exchange fails.
  return __atomic_compare_exchange_n(&pending->slot->state, &seen, wanted, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

cs_pending cs_crasher_pending(const cs_crasher *crasher) SIGNAL_SAFE {
  return (cs_pending){crasher->slot, __atomic_load_n(&crasher->slot->state, __ATOMIC_RELAXED), crasher->ticket};
}

void cs_pending_withdraw(const cs_pending *pending) SIGNAL_SAFE {
  if (settle(pending, CS_RING_STATE_FREE)) __atomic_store_n(&spare, pending->ticket + 1, __ATOMIC_RELAXED);
}

bool cs_pending_commit(const cs_pending *pending) SIGNAL_SAFE {
  return settle(pending, CS_RING_STATE_COMMITTED);
}

void cs_crasher_release(cs_crasher *crasher) SIGNAL_SAFE {
  // release: the last access of this thread to the entry happens before the first access of the thread that claims the
  // slot next.
  __atomic_store_n(&crashing_tid[crasher - crashers], 0, __ATOMIC_RELEASE);
}

#endif
