// The thread that reports incidents to the program. It exists only if the program subscribes to them.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "../setup.h"

#include "../../Signal/Containment/incident_wait.h"

// The time between two calls of the callback.
#define PAUSE_NS 250000000L

static void (*deliver)(void);

static void *run(void *unused) {
  (void)unused;
  uint32_t seen = 0;
  for (;;) {
    seen = cs_incident_wait(seen);
    deliver();
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    nanosleep(&pause, NULL);
  }
  return NULL;
}

bool cs_shim_incidents_follow(void (*function)(void)) {
  pthread_t thread;
  sigset_t all;
  sigset_t before;
  deliver = function;
  // The thread inherits the mask, so signals sent to the process run on the program's threads. A crash in `deliver` is
  // reported like any other crash.
  sigfillset(&all);
  const int crash_signals[CS_CRASH_SIGNAL_COUNT] = CS_CRASH_SIGNALS;
  for (int index = 0; index < CS_CRASH_SIGNAL_COUNT; index++)
    sigdelset(&all, crash_signals[index]);
  sigdelset(&all, SIGPROF); // the thread sweep samples its stack with SIGPROF
  pthread_sigmask(SIG_BLOCK, &all, &before);
  const bool has_begun = pthread_create(&thread, NULL, run, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (!has_begun) return false;
  pthread_setname_np(thread, "crashshield-i");
  pthread_detach(thread);
  return true;
}

#endif
