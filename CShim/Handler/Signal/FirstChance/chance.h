// The calls of first-chance handlers. A first-chance handler is a handler that the program installed before the shield,
// and that can repair a fault before the fault counts as a crash. Each call has one entry, which contains the pending
// record of its fault: the record is withdrawn (removed from the ring) if the handler returns or is left by
// siglongjmp(), and else counts as a crash.
#ifndef CS_CHANCE_H
#define CS_CHANCE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "../Dispatch/crasher.h"
#include "cs_signal_safe.h"

typedef struct cs_chance {
  uint32_t state;  // atomic
  uint32_t looked; // the value of `state` at the watchdog's last check
  int tid;
  uint64_t frame; // the address of the handler's signal frame on the stack
  uint64_t call_ns;
  uint64_t loop_ns; // the time when the handler first returned without repairing this fault; 0: no such return
  uint64_t address;
  cs_pending pending;
  siginfo_t information;
  ucontext_t context; // only the kernel's part of the structure is valid
  bool is_spooled;
  bool is_deferred; // whether the handler runs with its own signal blocked
  bool is_repaired; // whether the fault seems repaired; determined only after the same fault has occurred twice
} cs_chance;

// Claims an entry for a handler call on this thread, if possible `own`, the entry of the thread's last call. Returns
// NULL if no entry near the thread's index is free.
cs_chance *cs_chance_take(int tid, cs_chance *own) SIGNAL_SAFE;

// Delivers the ring, to the spool directory if crashd cannot be reached. Does nothing if the process is connected to
// crashd, which then has the ring. Precondition: the record is complete.
void cs_chance_spool(cs_chance *entry) SIGNAL_SAFE;

// Stores that the handler of the entry is about to be called.
void cs_chance_run(cs_chance *entry) SIGNAL_SAFE;

// Returns the entry of this thread's last handler call, if that handler has returned. Otherwise returns NULL.
cs_chance *cs_chance_returned(int tid) SIGNAL_SAFE;

// Returns the entry of the handler whose signal frame is `frame`, or NULL. If the result is not NULL, the caller must
// call cs_chance_withdraw().
cs_chance *cs_chance_settle(int tid, uint64_t frame) SIGNAL_SAFE;
void cs_chance_withdraw(cs_chance *entry, bool has_returned) SIGNAL_SAFE;

// Withdraws those pending records of this thread whose handler was left by siglongjmp(): the handler is not among the
// callers of the code that was interrupted at `context`.
void cs_chance_withdraw_left(int tid, const ucontext_t *context) SIGNAL_SAFE;
// Commits the other pending records of this thread.
void cs_chance_commit(int tid) SIGNAL_SAFE;

// Returns whether the program's handler of the signal has returned at least once.
bool cs_chance_has_returned(int signal) SIGNAL_SAFE;
void cs_chance_note_returned(int signal, bool has_returned) SIGNAL_SAFE;

// For the watchdog: withdraws the records of threads that left their handler with siglongjmp(). Also commits the
// records of threads whose handler has run for `patience_ms`. Returns false if there is nothing to check periodically.
// The watchdog can then sleep until a thread wakes it.
bool cs_chance_check_all(uint32_t patience_ms) SIGNAL_SAFE;

// Called at exit(): withdraws the records of threads that left their handlers and that the watchdog has not checked
// yet.
void cs_chance_end_all(void) SIGNAL_SAFE;

// In a forked child: clears the entries.
void cs_chance_forget_all(void) SIGNAL_SAFE;

#endif
