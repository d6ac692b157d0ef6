// The shield's own threads, for the handler and the setup.
#ifndef CS_OWN_THREADS_H
#define CS_OWN_THREADS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "cs_signal_safe.h"

typedef enum cs_own_role {
  CS_OWN_WATCHDOG, // watches the handler (watchdog.h)
  CS_OWN_LINK,     // keeps the connection to crashd
  CS_OWN_CALLER,   // calls the program's callbacks
  CS_OWN_ROLES,
} cs_own_role;

// The tid of the thread with this role, or 0. Atomic.
int cs_own_tid(cs_own_role role) SIGNAL_SAFE;
void cs_own_tid_set(cs_own_role role, int tid) SIGNAL_SAFE;

// Returns whether a sweep skips the thread, because it runs no code of the program. A callback of the program counts as
// its code.
bool cs_own_is_idle(int tid) SIGNAL_SAFE;
void cs_own_runs_callback(bool does) SIGNAL_SAFE;

// The name of the quarantine's thread (CShim/Quarantine/Release/reaper.c), which runs deinits.
#define CS_OWN_REAPER_NAME "crashshield-q"
// The name of the thread that passes incidents on (Setup/Ring/incident_thread.c), which runs executors of the program.
#define CS_OWN_INCIDENTS_NAME "crashshield-i"

// Passes on a process-directed signal to a thread of the program, which may wait for it. The receiving thread of the
// shield runs code of the program, so it did not block the signal; it blocks it afterwards. Returns false for a fault,
// a thread-directed signal, or another thread. When a signal that was passed on arrives, its code is restored: reports
// and the program's handlers read SI_USER if kill() sent it. A thread that waits for it with sigwait() reads SI_QUEUE.
bool cs_own_passes_on(int signal, siginfo_t *information, ucontext_t *context) SIGNAL_SAFE;

// For a crash whose descriptor table lacks the connection: asks the thread of the connection to wake crashd. Returns
// true if it has.
bool cs_own_link_wakes_crashd(void) SIGNAL_SAFE;
// For that thread: cs_own_link_attached() notes whether crashd holds the ring through its connection.
// cs_own_link_is_asked() returns whether a crash waits for it; cs_own_link_has_woken() answers that crash.
void cs_own_link_attached(bool is_so) SIGNAL_SAFE;
bool cs_own_link_is_asked(uint32_t *ret_number) SIGNAL_SAFE;
void cs_own_link_has_woken(uint32_t number) SIGNAL_SAFE;

// The signal that wakes the thread of the connection: glibc's cancellation signal. glibc sends it only to single
// threads, and lets no program block, handle or wait for it. The thread of the connection is never canceled. It blocks
// the signal and reads it from a descriptor.
#define CS_OWN_BELL 32

// cs_own_dismiss() asks the threads to end as soon as they can (Setup/Threads/aside.c).
bool cs_own_are_dismissed(void) SIGNAL_SAFE;
void cs_own_dismiss(bool is_so) SIGNAL_SAFE;

// Clears the tids in a forked child.
void cs_own_forget(void) SIGNAL_SAFE;

#endif
