// The threads that are in the crash handler, and their records in the ring. The ring has slots, each with space for one
// record. To commit a record is to mark it as complete. A pending record belongs to a fault that a handler of the
// program can still resolve: it is committed or withdrawn later. If a thread does not complete its record in time, the
// watchdog sends it a reminder: the thread's own crash signal.
#ifndef CS_CRASHER_H
#define CS_CRASHER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "../Unwind/cfi.h"
#include "cs_ring.h"

// The committer of a record: the thread ID of the crashing thread or of the watchdog, or one of the following values.
#define CS_COMMITTER_NONE      0
#define CS_COMMITTER_REMINDING (-1) // the watchdog is about to send a reminder (cs_crasher_remind)
#define CS_COMMITTER_REMINDED  (-2) // the reminder was sent; no thread is the committer yet

// The state of a crashing thread. Entry n belongs to slot n of the ring.
typedef struct cs_crasher {
  int tid;
  uint32_t depth;      // the number of crashes inside the handler
  bool is_counted;     // whether other crashing threads must still wait for this thread
  bool is_pending;     // whether the record is pending: it is withdrawn if a handler of the program resolves the fault
  bool is_watched;     // whether the thread has called cs_watch_enter()
  bool is_at_commit;   // atomic: whether the thread has finished writing its record
  int committer;       // atomic
  int signal;          // the original signal, by which the process must end
  ucontext_t *context; // the kernel's context of the original signal
  bool has_own_table;  // the thread has its own descriptor table, in which it may close the program's descriptors
  int next_spare;      // the next standard stream that the thread may close in its own table
  siginfo_t information;
  uint64_t ticket;
  cs_ring_slot *slot;
  cs_cfi_scratch scratch;
} cs_crasher;

// Returns the entry of the thread if the thread is in the handler, else NULL.
cs_crasher *cs_crasher_of(int tid) SIGNAL_SAFE;

// Claims a slot for the thread and clears its record. If all slots are in use, counts the loss and returns NULL.
cs_crasher *cs_crasher_claim(int tid, int signal, const siginfo_t *information, ucontext_t *context) SIGNAL_SAFE;

// Claims a slot for a pending record, which can be withdrawn. `is_watched`: the thread has called cs_watch_enter().
cs_crasher *cs_crasher_claim_pending(int tid, const siginfo_t *information, ucontext_t *context,
                                     bool is_watched) SIGNAL_SAFE;

// Sets the record's sequence number to that of an earlier record of the same fault.
void cs_crasher_take_sequence(cs_crasher *crasher, uint64_t sequence) SIGNAL_SAFE;

// Commits this thread's record. Does nothing if the record is already committed. If the watchdog is committing it,
// waits for this, at most 10 s.
void cs_crasher_commit(cs_crasher *crasher) SIGNAL_SAFE;

// Like cs_crasher_commit(), but also sets flags of the record. If a flag is set, the record counts as minimal (without
// all its parts).
void cs_crasher_commit_as(cs_crasher *crasher, uint32_t flags) SIGNAL_SAFE;

// Handles a signal that was sent to a thread that is already in the handler. Returns true if the signal is the
// watchdog's reminder and the thread has not finished its record. The thread must then stop writing the record.
bool cs_crasher_takes_reminder(cs_crasher *crasher) SIGNAL_SAFE;

// A complete record that can be withdrawn. The functions below do nothing if the record is already withdrawn or
// committed, or if another crash has claimed its slot.
typedef struct cs_pending {
  cs_ring_slot *slot; // NULL: no record
  uint64_t state;
  uint64_t ticket;
} cs_pending;

// Returns the thread's record as a pending one. Precondition: the record is complete, and the thread still owns the
// slot.
cs_pending cs_crasher_pending(const cs_crasher *crasher) SIGNAL_SAFE;
void cs_pending_withdraw(const cs_pending *pending) SIGNAL_SAFE;
bool cs_pending_commit(const cs_pending *pending) SIGNAL_SAFE;

// For the watchdog: cs_crasher_at() returns the entry of the thread that is in the handler and writes to slot `index`,
// or NULL. cs_crasher_is_writing() returns whether the thread's record is not committed yet.
cs_crasher *cs_crasher_at(uint32_t index) SIGNAL_SAFE;
bool cs_crasher_is_writing(const cs_crasher *crasher) SIGNAL_SAFE;

// For the watchdog: sends the thread the reminder. Returns false if the thread is already committing its record, or if
// the signal cannot be sent.
bool cs_crasher_remind(cs_crasher *crasher) SIGNAL_SAFE;

// For the watchdog: commits the record of a reminded thread. If `is_last` is true, the process is about to end, so the
// function commits the record even if it is incomplete. Returns true if this call committed the record.
bool cs_crasher_commit_for(cs_crasher *crasher, bool is_last) SIGNAL_SAFE;

// In a forked child: clears the state of the parent's crashing threads.
void cs_crasher_forget_all(void) SIGNAL_SAFE;

// Releases the slot when the thread leaves the handler.
void cs_crasher_release(cs_crasher *crasher) SIGNAL_SAFE;

#endif
