// Starts the reaper's thread, and handles forks and the exit of the process.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "reaper.h"

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_prepared; // protected by start_lock

static void park(void) {
  atomic_store(&cs_reaper_is_parked, 1);
}

static void forget(void) {
  // A forked child has no reaper. Objects in the child's queue stay there. When the queue is full, no further objects
  // are admitted to the quarantine.
  atomic_store(&cs_reaper_is_running, 0);
}

static bool start_thread(void) {
  // The signals that the reaper's thread does not block: those of faults, because a deinit can fault, and SIGPROF, with
  // which the crash handler samples the stacks of threads. All other signals are blocked, so that they reach the
  // program's threads, for example a thread that waits for them with sigwait().
  static const int wanted[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS, SIGPROF};
  sigset_t blocked, here;
  pthread_t thread;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  sigfillset(&blocked);
  pthread_sigmask(SIG_SETMASK, NULL, &here);
  for (uint32_t index = 0; index < sizeof wanted / sizeof *wanted; index++) {
    if (sigismember(&here, wanted[index]) == 0) sigdelset(&blocked, wanted[index]);
  }
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  const bool is_started = pthread_attr_setsigmask_np(&attributes, &blocked) == 0 &&
                          pthread_create(&thread, &attributes, cs_reaper_run, NULL) == 0;
  pthread_attr_destroy(&attributes);
  return is_started;
}

bool cs_reaper_start(void) {
  pthread_mutex_lock(&start_lock);
  if (!is_prepared) {
    cs_reaper_prepare();
    pthread_atfork(NULL, NULL, forget);
    // This atexit handler must run before those of the program. atexit handlers run in the reverse order of their
    // registration, so it is registered as late as here.
    (void)atexit(park);
    is_prepared = true;
  }
  if (atomic_load(&cs_reaper_is_running) == 0) {
    atomic_store(&cs_reaper_is_running, start_thread() ? 1 : 0);
  }
  const bool result = atomic_load(&cs_reaper_is_running) != 0;
  pthread_mutex_unlock(&start_lock);
  return result;
}

#endif
