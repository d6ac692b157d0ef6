// The threads that the shield has of its own: one for the connection, one that watches the handler.
#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "setup.h"

#include "../Signal/watch.h"

// The watcher only makes system calls.
#define WATCHER_STACK_BYTES (UINT64_C(64) * 1024)

static int watcher_pid; // the process that has a watcher; a forked child has none
static uint32_t deadline_ms;

// A stack of 0 bytes is one of the default size. Returns errno's value.
static int create(void *(*routine)(void *), size_t stack_bytes) {
  pthread_t thread;
  pthread_attr_t attributes;
  int result = pthread_attr_init(&attributes);
  if (result != 0) return result;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  if (stack_bytes > 0) pthread_attr_setstacksize(&attributes, stack_bytes);
  result = pthread_create(&thread, &attributes, routine, NULL);
  pthread_attr_destroy(&attributes);
  return result;
}

cs_shim_error cs_own_thread_start(void *(*routine)(void *), const sigset_t *blocked, size_t stack_bytes,
                                  cs_shim_failure *ret_failure) {
  sigset_t before;
  // The thread inherits the mask: no other signal of the program's ever runs on it.
  pthread_sigmask(SIG_SETMASK, blocked, &before);
  int result = create(routine, stack_bytes);
  // glibc takes the program's static thread-locals from the stack; where they leave no room, the default must do.
  if (result == EINVAL) result = create(routine, 0);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = result;
  return result == 0 ? CS_SHIM_OK : cs_setup_failed(ret_failure, "pthread_create");
}

static void *watch(void *unused) {
  cs_watch_run(deadline_ms);
  return unused;
}

cs_shim_error cs_watcher_start(cs_shim_failure *ret_failure) {
  sigset_t all;
  sigfillset(&all);
  // Swift's backtracer stops threads by it, and says of one that blocks it that it could not.
  sigdelset(&all, SIGPROF);
  // One that a start before this one made, and that then failed, sleeps still.
  if (watcher_pid == cs_getpid()) return CS_SHIM_OK;
  deadline_ms = cs_environment_deadline_ms();
  if (deadline_ms == 0) return CS_SHIM_OK;
  const cs_shim_error error = cs_own_thread_start(watch, &all, WATCHER_STACK_BYTES, ret_failure);
  if (error != CS_SHIM_OK) return error;
  watcher_pid = cs_getpid();
  cs_watch_await();
  return CS_SHIM_OK;
}

void cs_watcher_forget(void) {
  watcher_pid = 0;
  cs_watch_forget();
}
