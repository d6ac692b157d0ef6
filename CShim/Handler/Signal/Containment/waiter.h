// Threads that wait for a lock that a parked thread holds. They never continue, and are parked, too.
#ifndef CS_WAITER_H
#define CS_WAITER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "cs_signal_safe.h"

// Returns the ID of the thread that holds the lock for which a futex call waits, or 0 if the owner is unknown or the
// wait has a time limit. The arguments are those of the system call.
int cs_waiter_owner(uint64_t word, uint64_t operation, uint64_t value, uint64_t time_limit) SIGNAL_SAFE;

// Sends the thread the signal that makes it park.
void cs_waiter_send(int tid) SIGNAL_SAFE;

// Handles the signal of cs_waiter_send(): parks the thread if it still waits for a parked thread. Returns false for any
// other signal.
bool cs_waiter_takes(int tid, int signal, const siginfo_t *information, ucontext_t *context) SIGNAL_SAFE;

#endif
