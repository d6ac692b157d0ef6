// Calls of first-chance handlers, which may repair a fault. Each call has one entry with its pending record.
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
  uint32_t looked; // the state at the watchdog's last check
  int tid;
  uint64_t frame; // the handler's frame
  uint64_t call_ns;
  uint64_t loop_ns; // when the handler first returned to the same fault; 0: it has not
  uint64_t address;
  cs_pending pending;
  siginfo_t information;
  ucontext_t context; // only the kernel's part is valid
  bool is_spooled;
  bool is_deferred; // the handler has its signal blocked
  bool is_repaired; // best guess; only determined after the same fault has occurred twice
} cs_chance;

// Returns an entry for a call on this thread: `own`, the entry of its last call, if possible. NULL: no entry near the
// thread's index is free.
cs_chance *cs_chance_take(int tid, cs_chance *own) SIGNAL_SAFE;

// Writes the ring to the spool directory if no crashd has the ring. Precondition: the record is complete.
void cs_chance_spool(cs_chance *entry) SIGNAL_SAFE;

// Marks that the handler is about to be called.
void cs_chance_run(cs_chance *entry) SIGNAL_SAFE;

// Returns the entry of this thread whose handler has returned last. NULL: none.
cs_chance *cs_chance_returned(int tid) SIGNAL_SAFE;

// Returns the entry of the handler that has `frame`. The caller must withdraw it. NULL: there is none.
cs_chance *cs_chance_settle(int tid, uint64_t frame) SIGNAL_SAFE;
void cs_chance_withdraw(cs_chance *entry, bool has_returned) SIGNAL_SAFE;

// cs_chance_withdraw_left() withdraws the records of this thread whose handler has been left: the handler is not among
// the callers of the code interrupted at `context`. cs_chance_commit() commits the other records of this thread.
void cs_chance_withdraw_left(int tid, const ucontext_t *context) SIGNAL_SAFE;
void cs_chance_commit(int tid) SIGNAL_SAFE;

// Returns whether the handler of that signal has ever returned.
bool cs_chance_has_returned(int signal) SIGNAL_SAFE;
void cs_chance_note_returned(int signal, bool has_returned) SIGNAL_SAFE;

// For the watchdog: withdraws the records of threads that have left their handler by siglongjmp(). Commits the records
// of threads whose handler has run for `patience_ms`. false: the watchdog may sleep until it is woken.
bool cs_chance_check_all(uint32_t patience_ms) SIGNAL_SAFE;

// When the process ends by exit(): withdraws the records of handlers that were left and that the watchdog has not
// checked.
void cs_chance_end_all(void) SIGNAL_SAFE;

// Clears the entries in a forked child.
void cs_chance_forget_all(void) SIGNAL_SAFE;

#endif
