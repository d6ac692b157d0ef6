// The thread that reports incidents (non-fatal events, such as an absorbed failure) to the program. It exists only if
// the program subscribes to them.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "../setup.h"

#include "../../Signal/Containment/incident_wait.h"

// The pause between two calls of the program's callback.
#define PAUSE_NS 250000000L

static void (*deliver)(void);
static sigset_t open_signals; // the signals to unblock during a call

static void *run(void *unused) {
  (void)unused;
  sigset_t idle;
  uint32_t seen = 0;
  // The crash handler recognizes this thread by its name. If this thread receives a signal that was sent to the
  // process, the crash handler passes the signal on to a thread of the program.
  pthread_setname_np(pthread_self(), CS_OWN_INCIDENTS_NAME);
  for (;;) {
    seen = cs_incident_wait(seen);
    pthread_sigmask(SIG_UNBLOCK, &open_signals, &idle);
    deliver();
    pthread_sigmask(SIG_SETMASK, &idle, NULL);
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    nanosleep(&pause, NULL);
  }
  return NULL;
}

// The callback can run executors of the program, whose code can crash. During a call, crash signals are therefore
// unblocked. A crash signal stays blocked if the creating thread had blocked it.
static void choose_open_signals(const sigset_t *blocked) {
  const int crash_signals[CS_CRASH_SIGNAL_COUNT] = CS_CRASH_SIGNALS;
  sigemptyset(&open_signals);
  for (int index = 0; index < CS_CRASH_SIGNAL_COUNT; index++) {
    if (sigismember(blocked, crash_signals[index]) == 0) sigaddset(&open_signals, crash_signals[index]);
  }
}

bool cs_shim_incidents_follow(void (*function)(void)) {
  pthread_t thread;
  sigset_t all;
  sigset_t before;
  deliver = function;
  // The new thread inherits this signal mask, which blocks all signals except SIGPROF. If a signal is sent to the
  // process, the kernel therefore chooses a thread of the program.
  sigfillset(&all);
  sigdelset(&all, SIGPROF); // the thread sweep samples the new thread's stack with SIGPROF
  pthread_sigmask(SIG_BLOCK, &all, &before);
  choose_open_signals(&before);
  const bool has_begun = pthread_create(&thread, NULL, run, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (!has_begun) return false;
  pthread_detach(thread);
  return true;
}

#endif
