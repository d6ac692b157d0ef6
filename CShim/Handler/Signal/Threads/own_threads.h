// The shield's own threads, as far as the crash handler and the setup need to identify and control them.
#ifndef CS_OWN_THREADS_H
#define CS_OWN_THREADS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "cs_signal_safe.h"

typedef enum cs_own_role {
  CS_OWN_WATCHDOG, // supervises the handler (watchdog.h)
  CS_OWN_LINK,     // keeps the connection to crashd
  CS_OWN_CALLER,   // calls the program's callbacks
  CS_OWN_ROLES,    // the number of the roles above, whose threads step aside (Setup/Threads/aside.c)
  // The threads of containment never end.
  CS_OWN_ENDER = CS_OWN_ROLES, // ends a drain
  CS_OWN_ANSWERS,              // resumes the code that waits for a trapped request (answers.c)
  CS_OWN_DRAIN,                // calls the program's callback for the begin of a drain
  CS_OWN_ALL_ROLES,
} cs_own_role;

// Return and set the ID of the thread with this role. The ID is 0 if no thread has the role. Atomic.
int cs_own_tid(cs_own_role role) SIGNAL_SAFE;
void cs_own_tid_set(cs_own_role role, int tid) SIGNAL_SAFE;

// Returns whether the thread is the watchdog, the connection's thread, the ender, the thread of the answers, or the
// caller's thread outside of a callback. A sweep (the sampling of all threads' stacks at a crash) skips such a thread.
bool cs_own_is_idle(int tid) SIGNAL_SAFE;
void cs_own_runs_callback(bool does) SIGNAL_SAFE;

// The name of the quarantine's thread (CShim/Quarantine/Release/reaper.c), which runs deinits.
#define CS_OWN_REAPER_NAME "crashshield-q"
// The name of the thread that reports incidents to the program (Setup/Ring/incident_thread.c), which runs executors of
// the program.
#define CS_OWN_INCIDENTS_NAME "crashshield-i"

// A signal that was sent to the process can reach a thread of the shield that runs code of the program with the signal
// unblocked. This function then sends the signal to the process again, for a thread of the program, and blocks it in
// the calling thread. Returns false for a fault, for a signal that was sent to a single thread, and on a thread of the
// program. When the signal arrives again, its original code is restored: reports and the program's handlers get si_code
// SI_USER if kill() sent the signal. A thread that waits for the signal with sigwaitinfo(), however, gets SI_QUEUE.
bool cs_own_passes_on(int signal, siginfo_t *information, ucontext_t *context) SIGNAL_SAFE;

// For a crashing thread in whose descriptor table the connection does not exist: asks the connection's thread to wake
// crashd, and waits at most 20 ms. Returns true if the connection's thread has done so.
bool cs_own_link_wakes_crashd(void) SIGNAL_SAFE;
// For the connection's thread: cs_own_link_attached() stores whether crashd has the ring through the connection.
// cs_own_link_is_asked() returns whether a crashing thread waits until this thread has woken crashd.
// cs_own_link_has_woken() ends that wait.
void cs_own_link_attached(bool is_so) SIGNAL_SAFE;
bool cs_own_link_is_asked(uint32_t *ret_number) SIGNAL_SAFE;
void cs_own_link_has_woken(uint32_t number) SIGNAL_SAFE;

// The signal that wakes the connection's thread is glibc's cancellation signal. glibc sends this signal only to single
// threads, and does not let a program block it, handle it or wait for it. glibc never cancels the connection's thread.
// The connection's thread blocks the signal and reads it from a signalfd.
#define CS_OWN_BELL 32

// cs_own_dismiss() dismisses the shield's threads: it requests that they end as soon as they can
// (Setup/Threads/aside.c).
bool cs_own_are_dismissed(void) SIGNAL_SAFE;
void cs_own_dismiss(bool is_so) SIGNAL_SAFE;

// In a forked child: clears the thread IDs.
void cs_own_forget(void) SIGNAL_SAFE;

#endif
