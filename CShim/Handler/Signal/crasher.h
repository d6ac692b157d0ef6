// The threads that are in the handler, and the slots of the ring they write.
#ifndef CS_CRASHER_H
#define CS_CRASHER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "cfi.h"
#include "cs_ring.h"

// One crashed thread; entry n belongs to slot n of the ring.
typedef struct cs_crasher {
  int tid;
  uint32_t depth;         // crashes of the handler itself
  bool is_counted;        // among the threads that others wait for
  uint32_t is_committing; // atomic: who sets it commits, the thread or the watcher
  int signal;             // the original one: the process must end by it
  siginfo_t information;
  uint64_t ticket;
  cs_ring_slot *slot;
  cs_cfi_scratch scratch;
} cs_crasher;

// The entry of the thread if it is in the handler already, else NULL.
cs_crasher *cs_crasher_of(int tid) SIGNAL_SAFE;

// Claims a slot for the thread, counted as one to wait for, and clears its record. NULL when all slots are being
// written: then the loss is counted.
cs_crasher *cs_crasher_claim(int tid, int signal, const siginfo_t *information) SIGNAL_SAFE;

// Publishes the record. Does nothing when the slot is committed already.
void cs_crasher_commit(cs_crasher *crasher) SIGNAL_SAFE;

// The same with flags that say what it lacks; only then is it counted as minimal.
void cs_crasher_commit_as(cs_crasher *crasher, uint32_t flags) SIGNAL_SAFE;

// For the watcher: the thread that is in the handler with slot `index`, else NULL; and whether it has not committed.
cs_crasher *cs_crasher_at(uint32_t index) SIGNAL_SAFE;
bool cs_crasher_is_writing(const cs_crasher *crasher) SIGNAL_SAFE;

// In a forked child: its parent's crashed threads are not its own.
void cs_crasher_forget_all(void) SIGNAL_SAFE;

// The thread leaves the handler.
void cs_crasher_release(cs_crasher *crasher) SIGNAL_SAFE;

#endif
