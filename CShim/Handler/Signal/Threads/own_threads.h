// The threads that the shield has of its own, as the handler and the setup see them.
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

// The thread of this role, 0 when there is none. Atomic.
int cs_own_tid(cs_own_role role) SIGNAL_SAFE;
void cs_own_tid_set(cs_own_role role, int tid) SIGNAL_SAFE;

// Whether a sweep leaves the thread out: it runs none of the program's code. A callback of the program's is the
// program's code.
bool cs_own_is_idle(int tid) SIGNAL_SAFE;
void cs_own_runs_callback(bool does) SIGNAL_SAFE;

// The name of the quarantine's thread (CShim/Quarantine/Release/reaper.c), which runs deinits.
#define CS_OWN_REAPER_NAME "crashshield-q"

// Hands on a signal that was sent to the process and came to a thread of the shield's that runs code of the program's,
// and has it open for that: a thread of the program's may wait for it. From then on that thread blocks it. false: it is
// a fault, or was sent to that thread, or the thread is another one.
bool cs_own_passes_on(int signal, const siginfo_t *information, ucontext_t *context) SIGNAL_SAFE;

// For a crash whose descriptor table has no connection any more: has the thread of the connection wake crashd. true: it
// has.
bool cs_own_link_wakes_crashd(void) SIGNAL_SAFE;
// For that thread: whether crashd holds the ring by its connection; and whether a crash waits for it, which `has_woken`
// answers.
void cs_own_link_attached(bool is_so) SIGNAL_SAFE;
bool cs_own_link_is_asked(uint32_t *ret_number) SIGNAL_SAFE;
void cs_own_link_has_woken(uint32_t number) SIGNAL_SAFE;

// What wakes the thread of the connection: the signal that glibc cancels threads with. glibc sends it to one thread
// alone and lets no program block, handle or wait for it; nothing cancels this thread, which blocks it and reads it
// from a descriptor.
#define CS_OWN_BELL 32

// The threads are to end as soon as they can (Setup/aside.c).
bool cs_own_are_dismissed(void) SIGNAL_SAFE;
void cs_own_dismiss(bool is_so) SIGNAL_SAFE;

// In a forked child, which has none of them.
void cs_own_forget(void) SIGNAL_SAFE;

#endif
