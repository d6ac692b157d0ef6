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

// The tid of this role's thread; 0 if there is none. Atomic.
int cs_own_tid(cs_own_role role) SIGNAL_SAFE;
void cs_own_tid_set(cs_own_role role, int tid) SIGNAL_SAFE;

// Whether a sweep skips the thread: it runs no code of the program. Callbacks of the program count as its code.
bool cs_own_is_idle(int tid) SIGNAL_SAFE;
void cs_own_runs_callback(bool does) SIGNAL_SAFE;

// The name of the quarantine's thread (CShim/Quarantine/Release/reaper.c), which runs deinits.
#define CS_OWN_REAPER_NAME "crashshield-q"
// The name of the thread that passes incidents on (Setup/Ring/incident_thread.c), which runs executors of the program.
#define CS_OWN_INCIDENTS_NAME "crashshield-i"

// Passes on a process-directed signal that reached a thread of the shield which runs code of the program and therefore
// does not block it: a thread of the program may wait for the signal. The shield's thread then blocks it. Returns false
// for a fault, a thread-directed signal, or another thread. A signal that was passed on to this thread gets its code
// back: a report and the program's handlers see SI_USER where kill() sent it. A thread that waits for it sees SI_QUEUE.
bool cs_own_passes_on(int signal, siginfo_t *information, ucontext_t *context) SIGNAL_SAFE;

// For a crash whose descriptor table lacks the connection: lets the thread of the connection wake crashd. Returns true
// if it has.
bool cs_own_link_wakes_crashd(void) SIGNAL_SAFE;
// For that thread: whether crashd holds the ring by its connection; and whether a crash waits for it, which `has_woken`
// answers.
void cs_own_link_attached(bool is_so) SIGNAL_SAFE;
bool cs_own_link_is_asked(uint32_t *ret_number) SIGNAL_SAFE;
void cs_own_link_has_woken(uint32_t number) SIGNAL_SAFE;

// The signal that wakes the thread of the connection: glibc's cancellation signal. glibc sends it only to single
// threads and lets no program block, handle or wait for it; nothing cancels this thread, which blocks it and reads it
// from a descriptor.
#define CS_OWN_BELL 32

// Asks the threads to end as soon as they can (Setup/aside.c).
bool cs_own_are_dismissed(void) SIGNAL_SAFE;
void cs_own_dismiss(bool is_so) SIGNAL_SAFE;

// In a forked child: forgets the threads.
void cs_own_forget(void) SIGNAL_SAFE;

#endif
