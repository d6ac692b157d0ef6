// Determines which thread commits a crashing thread's record, that is, marks it as complete: the crashing thread
// itself, or the watchdog after it has sent the crashing thread a reminder (crasher.h). This thread is called the
// committer.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "crasher.h"

#include "../FaultInjection/fault_injection.h"
#include "cs_ring_access.h"
#include "state.h"
#include "trusted.h"

// A crashing thread waits at most 10 s (10,000 × 1 ms) while the watchdog commits the thread's record or is about to
// send it the reminder. A commit or a reminder takes microseconds, unless the machine is overloaded.
#define WATCHER_TRIES    10000
#define WATCHER_SLEEP_NS 1000000

static int committer_of(const cs_crasher *crasher) SIGNAL_SAFE {
  // acquire: pairs with the exchange in make_committer().
  return __atomic_load_n(&crasher->committer, __ATOMIC_ACQUIRE);
}

static bool make_committer(cs_crasher *crasher, int from, int to) SIGNAL_SAFE {
  return __atomic_compare_exchange_n(&crasher->committer, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

// Precondition: the calling thread is the committer.
static void publish(cs_crasher *crasher, uint32_t flags) SIGNAL_SAFE {
  cs_ring_slot *slot = crasher->slot;
  const uint64_t state = __atomic_load_n(&slot->state, __ATOMIC_RELAXED);
  if (flags != 0) {
    slot->record.flags |= flags;
    __atomic_fetch_add(&cs_process.ring->header.record_minimal, 1, __ATOMIC_RELAXED);
  }
  const uint32_t crc = cs_ring_crc32c(0, &slot->record, sizeof slot->record);
  slot->crc = cs_ring_crc32c(crc, slot->stack, slot->record.stack_bytes);
  slot->commit_ns = cs_clock_ns(CLOCK_MONOTONIC);
  const uint64_t whole = crasher->is_pending ? CS_RING_STATE_PENDING : CS_RING_STATE_COMMITTED;
  // release: pairs with cs_ring_slot_state_acquire() in the reader.
  __atomic_store_n(&slot->state, (state & ~(uint64_t)CS_RING_STATE_MASK) | whole, __ATOMIC_RELEASE);
}

// Concurrency: if the watchdog is about to send a reminder, the thread waits here, at most 10 s. Otherwise, the thread
// could leave the handler and receive the reminder outside of it. The wait ends when the reminder arrives. Returns true
// if this thread must commit the record. Returns false if the record is already committed. Also returns false if this
// thread was already committing and faulted in publish(): the record is then not usable.
static bool become_committer(cs_crasher *crasher) SIGNAL_SAFE {
  for (int attempt = 0; attempt < WATCHER_TRIES; attempt++) {
    const int committer = committer_of(crasher);
    if (committer == crasher->tid || !cs_crasher_is_writing(crasher)) return false;
    if (committer != CS_COMMITTER_NONE) {
      cs_sleep_ns(WATCHER_SLEEP_NS);
    } else if (make_committer(crasher, CS_COMMITTER_NONE, crasher->tid)) {
      return true;
    }
  }
  return make_committer(crasher, committer_of(crasher), crasher->tid);
}

void cs_crasher_commit(cs_crasher *crasher) SIGNAL_SAFE {
  cs_crasher_commit_as(crasher, 0);
}

void cs_crasher_commit_as(cs_crasher *crasher, uint32_t flags) SIGNAL_SAFE {
  if (!cs_crasher_is_writing(crasher)) return;
  // release: pairs with the acquire load in cs_crasher_commit_for().
  __atomic_store_n(&crasher->is_at_commit, true, __ATOMIC_RELEASE);
  if (!become_committer(crasher)) return;
  cs_inject_here(CS_INJECT_COMMITTING);
  publish(crasher, flags);
}

bool cs_crasher_takes_reminder(cs_crasher *crasher) SIGNAL_SAFE {
  int committer = committer_of(crasher);
  // The watchdog may be about to send its reminder when the same signal arrives from another process. The kernel merges
  // two pending signals of the same number, so this thread waits, at most 10 s, until the watchdog has sent its signal.
  for (int attempt = 0; attempt < WATCHER_TRIES && committer == CS_COMMITTER_REMINDING; attempt++) {
    cs_sleep_ns(WATCHER_SLEEP_NS);
    committer = committer_of(crasher);
  }
  if (committer == CS_COMMITTER_NONE || committer == crasher->tid) return false;
  // If the watchdog is already the committer, the exchange fails and the watchdog stays the committer.
  make_committer(crasher, CS_COMMITTER_REMINDED, CS_COMMITTER_NONE);
  return crasher->depth == 0 && !crasher->is_at_commit;
}

bool cs_crasher_remind(cs_crasher *crasher) SIGNAL_SAFE {
  if (!make_committer(crasher, CS_COMMITTER_NONE, CS_COMMITTER_REMINDING)) return false;
  // The reminder carries no data, because the kernel drops a signal's data if its queue is full. The thread therefore
  // takes any sent signal of this number for the reminder.
  const bool is_sent = cs_system_call(SYS_tgkill, cs_process.pid, crasher->tid, crasher->signal, 0, 0, 0) == 0;
  make_committer(crasher, CS_COMMITTER_REMINDING, is_sent ? CS_COMMITTER_REMINDED : CS_COMMITTER_NONE);
  return is_sent;
}

bool cs_crasher_commit_for(cs_crasher *crasher, bool is_last) SIGNAL_SAFE {
  const int self = cs_gettid();
  if (!cs_crasher_is_writing(crasher)) return false;
  if (is_last) {
    __atomic_store_n(&crasher->committer, self, __ATOMIC_RELEASE);
  } else if (!make_committer(crasher, CS_COMMITTER_REMINDED, self)) {
    return false;
  }
  // acquire: pairs with the release store in cs_crasher_commit_as(). If `is_at_commit` is set, the record is complete.
  // A complete record must not be marked as partial. It must also not change, because the thread can be computing its
  // checksum in publish().
  const bool is_whole = __atomic_load_n(&crasher->is_at_commit, __ATOMIC_ACQUIRE);
  publish(crasher, is_whole ? 0 : CS_RING_RECORD_MINIMAL | CS_RING_RECORD_LATE);
  return true;
}

#endif
