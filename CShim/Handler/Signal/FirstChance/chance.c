#include "cs_platform.h"

#if CS_SUPPORTED

#include "chance.h"

#include "../Deliver/deliver.h"
#include "../Dispatch/state.h"
#include "../Dispatch/trusted.h"
#include "../Dispatch/watch.h"
#include "../Threads/task_list.h"
#include "signal_frame.h"

// A hash table with the thread ID as the key. Each entry describes one call of a first-chance handler (chance.h). If a
// thread finds no free entry near its index, the program's handler is called without a record of the fault.
#define CHANCE_LIMIT  256
#define CHANCE_PROBES 16

// The low bits of the state of an entry. The high bits are incremented each time the entry is taken. A thread that
// withdraws a record compares the whole state, and can therefore not withdraw a later record by mistake.
#define CHANCE_FREE     0u
#define CHANCE_TAKEN    1u // a thread is writing the entry
#define CHANCE_RUNNING  2u // the handler has been called
#define CHANCE_RETURNED 3u // the handler has returned; the entry is kept until the thread's next fault
#define CHANCE_SETTLING 4u // a thread is withdrawing or committing the record
#define CHANCE_MASK     7u

static cs_chance chances[CHANCE_LIMIT];
static uint32_t returned[CS_SIGNAL_COUNT]; // atomic: whether the program's handler of the signal ever returned
static uint32_t is_used;                   // atomic: whether an entry was taken at least once
static uint32_t is_watching;               // atomic: whether the watchdog checks the entries periodically
static uint32_t is_active;                 // atomic: whether a first-chance handler was called since the last check

static uint32_t state_of(const cs_chance *entry) SIGNAL_SAFE {
  return __atomic_load_n(&entry->state, __ATOMIC_ACQUIRE);
}

static bool is_in_state(const cs_chance *entry, uint32_t kind) SIGNAL_SAFE {
  return (state_of(entry) & CHANCE_MASK) == kind;
}

// Returns false if the entry is no longer in the state `seen`, and changes nothing.
static bool change(cs_chance *entry, uint32_t seen, uint32_t to) SIGNAL_SAFE {
  const uint32_t taken = to == CHANCE_TAKEN ? CHANCE_MASK + 1 : 0;
  const uint32_t wanted = (seen & ~CHANCE_MASK) + taken + to;
  return __atomic_compare_exchange_n(&entry->state, &seen, wanted, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

// Changes the entry's state. Precondition: the caller has set the entry to TAKEN or SETTLING.
static void put(cs_chance *entry, uint32_t to) SIGNAL_SAFE {
  __atomic_store_n(&entry->state, (state_of(entry) & ~CHANCE_MASK) | to, __ATOMIC_SEQ_CST);
}

static cs_chance *entry_at(int tid, uint32_t probe) SIGNAL_SAFE {
  return &chances[((uint32_t)tid + probe) % CHANCE_LIMIT];
}

// Most programs have no first-chance handlers. Because `is_used` is checked first, they never touch the pages of the
// table.
static bool was_used(void) SIGNAL_SAFE {
  return __atomic_load_n(&is_used, __ATOMIC_RELAXED) != 0;
}

// Returns the number of entries to search for a call of this thread. If the thread has an entry, it has set `is_used`
// itself, so the relaxed load of was_used() suffices.
static uint32_t probe_count(void) SIGNAL_SAFE {
  return was_used() ? CHANCE_PROBES : 0;
}

void cs_chance_forget_all(void) SIGNAL_SAFE {
  for (uint32_t index = 0; was_used() && index < CHANCE_LIMIT; index++)
    __atomic_store_n(&chances[index].state, CHANCE_FREE, __ATOMIC_RELAXED);
  __atomic_store_n(&is_watching, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&cs_process.spooled_pending, 0, __ATOMIC_RELAXED);
}

bool cs_chance_has_returned(int signal) SIGNAL_SAFE {
  return __atomic_load_n(&returned[signal], __ATOMIC_RELAXED) != 0;
}

void cs_chance_note_returned(int signal, bool has_returned) SIGNAL_SAFE {
  __atomic_store_n(&returned[signal], has_returned ? 1 : 0, __ATOMIC_RELAXED);
}

void cs_chance_run(cs_chance *entry) SIGNAL_SAFE {
  put(entry, CHANCE_RUNNING);
  // Sequentially consistent with cs_chance_check_all(): either the watchdog reads this store before it sleeps, or this
  // thread wakes it.
  __atomic_store_n(&is_active, 1, __ATOMIC_SEQ_CST);
  if (__atomic_exchange_n(&is_watching, 1, __ATOMIC_SEQ_CST) == 0) cs_watch_wake();
}

void cs_chance_spool(cs_chance *entry) SIGNAL_SAFE {
  if (cs_deliver_is_attached()) return;
  // Ordering: `spooled_pending` is incremented before the file is written, so that no other thread removes the file.
  // cs_spool_take_back() reads the count while it holds the delivery lock.
  __atomic_fetch_add(&cs_process.spooled_pending, 1, __ATOMIC_SEQ_CST);
  entry->is_spooled = true;
  cs_deliver();
}

// Stores that this entry no longer needs the spool file. Returns whether a spool file may have been written for the
// entry.
static bool needs_no_file(cs_chance *entry) SIGNAL_SAFE {
  const bool is_spooled = entry->is_spooled;
  if (is_spooled) __atomic_fetch_sub(&cs_process.spooled_pending, 1, __ATOMIC_SEQ_CST);
  entry->is_spooled = false;
  return is_spooled;
}

// Precondition: the caller has set the entry to CHANCE_SETTLING.
static void withdraw(cs_chance *entry, uint32_t to) SIGNAL_SAFE {
  cs_pending_withdraw(&entry->pending);
  if (needs_no_file(entry)) cs_deliver_take_back();
  cs_chance_note_returned(entry->information.si_signo, true);
  put(entry, to);
}

void cs_chance_withdraw(cs_chance *entry, bool has_returned) SIGNAL_SAFE {
  withdraw(entry, has_returned ? CHANCE_RETURNED : CHANCE_FREE);
}

static bool is_below(const cs_chance *entry, uint64_t stack_pointer) SIGNAL_SAFE {
  return cs_signal_frame_is_below(entry->frame, &entry->context.uc_stack, stack_pointer);
}

// Precondition: `tid` is the calling thread. The entry is still TAKEN if a fault or a signal interrupted the thread
// while it wrote the entry.
static bool is_pending_of(const cs_chance *entry, uint32_t state, int tid) SIGNAL_SAFE {
  const uint32_t kind = state & CHANCE_MASK;
  return (kind == CHANCE_RUNNING || kind == CHANCE_TAKEN) && entry->tid == tid;
}

void cs_chance_withdraw_left(int tid, const ucontext_t *context) SIGNAL_SAFE {
  for (uint32_t probe = 0; probe < probe_count(); probe++) {
    cs_chance *entry = entry_at(tid, probe);
    const uint32_t seen = state_of(entry);
    if (!is_pending_of(entry, seen, tid)) continue;
    if (is_below(entry, cs_signal_frame_interrupted(context))) continue;
    if (change(entry, seen, CHANCE_SETTLING)) withdraw(entry, CHANCE_FREE);
  }
}

cs_chance *cs_chance_returned(int tid) SIGNAL_SAFE {
  for (uint32_t probe = 0; probe < probe_count(); probe++) {
    cs_chance *entry = entry_at(tid, probe);
    if (is_in_state(entry, CHANCE_RETURNED) && entry->tid == tid) return entry;
  }
  return NULL;
}

static bool take_in_state(cs_chance *entry, uint32_t kind) SIGNAL_SAFE {
  const uint32_t seen = state_of(entry);
  return (seen & CHANCE_MASK) == kind && change(entry, seen, CHANCE_TAKEN);
}

// Prefers the thread's own entry, then a free entry, then an entry of another thread whose handler has returned.
// Reusing another thread's entry is harmless, because the entry only serves to detect repeated faults.
cs_chance *cs_chance_take(int tid, cs_chance *own) SIGNAL_SAFE {
  const uint32_t kinds[] = {CHANCE_FREE, CHANCE_RETURNED};
  if (own != NULL && take_in_state(own, CHANCE_RETURNED)) return own;
  __atomic_store_n(&is_used, 1, __ATOMIC_RELAXED);
  for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
    for (uint32_t probe = 0; probe < CHANCE_PROBES; probe++) {
      cs_chance *entry = entry_at(tid, probe);
      if (take_in_state(entry, kinds[kind])) return entry;
    }
  }
  return NULL;
}

cs_chance *cs_chance_settle(int tid, uint64_t frame) SIGNAL_SAFE {
  for (uint32_t probe = 0; probe < probe_count(); probe++) {
    cs_chance *entry = entry_at(tid, probe);
    const uint32_t seen = state_of(entry);
    if ((seen & CHANCE_MASK) != CHANCE_RUNNING || entry->tid != tid || entry->frame != frame) continue;
    if (change(entry, seen, CHANCE_SETTLING)) return entry;
  }
  return NULL;
}

void cs_chance_commit(int tid) SIGNAL_SAFE {
  for (uint32_t probe = 0; probe < probe_count(); probe++) {
    const cs_chance *entry = entry_at(tid, probe);
    if (is_pending_of(entry, state_of(entry), tid)) cs_pending_commit(&entry->pending);
  }
}

typedef enum place {
  PLACE_UNKNOWN,
  PLACE_INSIDE, // the thread is in its handler, or in code that the handler called
  PLACE_LEFT,
} place;

// Determines whether a thread has left its handler. The stack pointer alone does not show this, because the thread can
// later use more stack than the handler did. Of a running thread, the kernel shows only the signal mask. If the thread
// does not block the signal, it has probably left the handler, but a handler can also unblock its own signal. This code
// draws that conclusion only if the process is about to end.
static place place_of(const cs_chance *entry, bool is_end) SIGNAL_SAFE {
  uint64_t stack_pointer = (uint64_t)(uintptr_t)__builtin_frame_address(0);
  const long result = entry->tid == cs_gettid() ? 0 : cs_task_stack_pointer(entry->tid, &stack_pointer);
  if (result == 0 && !is_below(entry, stack_pointer)) return PLACE_LEFT;
  if (!cs_signal_frame_is_intact(entry->frame)) return PLACE_LEFT;
  if (cs_system_call(SYS_tgkill, cs_process.pid, entry->tid, 0, 0, 0, 0) == -ESRCH) return PLACE_LEFT;
  if (result == 0 && (entry->tid == cs_gettid() || !entry->is_deferred)) return PLACE_INSIDE;
  if (!entry->is_deferred) return PLACE_UNKNOWN;
  cs_task_status status = {.blocked_signals = ~UINT64_C(0)};
  cs_task_status_read(entry->tid, &status);
  const bool is_blocked = (status.blocked_signals & UINT64_C(1) << (entry->information.si_signo - 1)) != 0;
  return is_blocked ? PLACE_INSIDE : is_end ? PLACE_LEFT : PLACE_UNKNOWN;
}

// Withdraws the records of threads that have left their handlers. A handler that has not returned after `patience_ns`
// can be waiting forever for a lock, so its fault then counts as a crash. Returns whether any record was pending.
static bool settle_all(bool is_end, uint64_t patience_ns) SIGNAL_SAFE {
  const uint64_t now_ns = cs_clock_ns(CLOCK_MONOTONIC);
  bool is_pending = false;
  for (uint32_t index = 0; was_used() && index < CHANCE_LIMIT; index++) {
    cs_chance *entry = &chances[index];
    const uint32_t seen = state_of(entry);
    if ((seen & CHANCE_MASK) != CHANCE_RUNNING) continue;
    is_pending = true;
    // The first check of an entry only notes its state, because most handlers return before the next check.
    const bool is_new = !is_end && entry->looked != seen;
    entry->looked = seen;
    if (is_new) continue;
    const place found = place_of(entry, is_end);
    if (found == PLACE_LEFT && change(entry, seen, CHANCE_SETTLING)) withdraw(entry, CHANCE_FREE);
    const bool is_late = found == PLACE_INSIDE && now_ns - entry->call_ns >= patience_ns;
    if (!is_late || !change(entry, seen, CHANCE_SETTLING)) continue;
    const bool is_crash = cs_pending_commit(&entry->pending);
    const bool has_file = needs_no_file(entry);
    if (is_crash) {
      cs_deliver_for_others();
    } else if (has_file) {
      cs_deliver_take_back();
    }
    put(entry, CHANCE_FREE);
  }
  return is_pending;
}

bool cs_chance_check_all(uint32_t patience_ms) SIGNAL_SAFE {
  const bool was_active = __atomic_exchange_n(&is_active, 0, __ATOMIC_SEQ_CST) != 0;
  if (settle_all(false, patience_ms * UINT64_C(1000000)) || was_active) return true;
  __atomic_store_n(&is_watching, 0, __ATOMIC_SEQ_CST);
  return __atomic_load_n(&is_active, __ATOMIC_SEQ_CST) != 0;
}

void cs_chance_end_all(void) SIGNAL_SAFE {
  settle_all(true, UINT64_MAX);
}

#endif
