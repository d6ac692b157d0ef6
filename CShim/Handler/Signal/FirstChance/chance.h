// Calls of handlers that may repair a fault, one entry each, and the records that are pending on them.
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
  uint64_t frame; // the handler's
  uint64_t call_ns;
  uint64_t loop_ns; // when it came back to the same fault for the first time; 0: it has not
  uint64_t address;
  cs_pending pending;
  siginfo_t information;
  ucontext_t context; // as far as the kernel's goes
  bool is_spooled;
  bool is_deferred; // the handler has its signal blocked
  bool is_repaired; // as far as that can be seen; only asked when the same fault has come twice
} cs_chance;

// An entry for a call on this thread: `own`, the one of its last call, if there is that. NULL: none is free near the
// thread's number.
cs_chance *cs_chance_take(int tid, cs_chance *own) SIGNAL_SAFE;

// Leaves the ring in the spool directory where no crashd has it. Precondition: the record is complete.
void cs_chance_spool(cs_chance *entry) SIGNAL_SAFE;

// The handler is about to be called.
void cs_chance_run(cs_chance *entry) SIGNAL_SAFE;

// The entry of this thread whose handler has come back last; NULL: none.
cs_chance *cs_chance_returned(int tid) SIGNAL_SAFE;

// The entry of the handler that has `frame`, for the caller to withdraw. NULL: there is none.
cs_chance *cs_chance_settle(int tid, uint64_t frame) SIGNAL_SAFE;
void cs_chance_withdraw(cs_chance *entry, bool has_returned) SIGNAL_SAFE;

// Withdraws the records of this thread whose handler is not among the callers of what was interrupted at `context`; and
// commits those of the others.
void cs_chance_withdraw_left(int tid, const ucontext_t *context) SIGNAL_SAFE;
void cs_chance_commit(int tid) SIGNAL_SAFE;

// Whether the handler of that signal has ever come back.
bool cs_chance_has_returned(int signal) SIGNAL_SAFE;
void cs_chance_note_returned(int signal, bool has_returned) SIGNAL_SAFE;

// For the watchdog: withdraws the records of threads that have left the handler by siglongjmp(), and commits those of
// threads that are in it for so long. false: it may sleep until it is woken.
bool cs_chance_check_all(uint32_t patience_ms) SIGNAL_SAFE;

// Withdraws what the watchdog has not seen yet, when the process ends by exit().
void cs_chance_end_all(void) SIGNAL_SAFE;

// In a forked child.
void cs_chance_forget_all(void) SIGNAL_SAFE;

#endif
