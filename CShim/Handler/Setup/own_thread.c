// The threads that the shield has of its own: one for the connection, one that watches the handler.
#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "setup.h"

#include "../Signal/watch.h"

// The watcher only makes system calls; but glibc takes the program's static thread-locals from the stack, and a
// profiler's handler runs on it. What is never touched costs address space only.
#define WATCHER_STACK_BYTES (UINT64_C(256) * 1024)

static int watcher_pid; // the process that has a watcher; a forked child has none
static uint32_t deadline_ms;

static const int crash_signals[CS_CRASH_SIGNAL_COUNT] = CS_CRASH_SIGNALS;

static void *begin(void *context) {
  const cs_own_thread *thread = context;
  pthread_sigmask(SIG_SETMASK, &thread->blocked, NULL);
  return thread->routine(NULL);
}

// A stack of 0 bytes is one of the default size. Returns errno's value.
static int create(cs_own_thread *thread, size_t stack_bytes) {
  pthread_t handle;
  pthread_attr_t attributes;
  int result = pthread_attr_init(&attributes);
  if (result != 0) return result;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  if (stack_bytes > 0) pthread_attr_setstacksize(&attributes, stack_bytes);
  result = pthread_create(&handle, &attributes, begin, thread);
  pthread_attr_destroy(&attributes);
  return result;
}

cs_shim_error cs_own_thread_start(cs_own_thread *thread, bool opens_crash_signals, cs_shim_failure *ret_failure) {
  sigset_t before;
  sigset_t all;
  sigfillset(&all);
  thread->blocked = all;
  for (int index = 0; index < CS_CRASH_SIGNAL_COUNT; index++) {
    if (opens_crash_signals) sigdelset(&thread->blocked, crash_signals[index]);
    // A fault while its signal is blocked would end the process without a record.
    sigdelset(&all, crash_signals[index]);
  }
  // The thread inherits the mask: none of the program's handlers ever runs on it, not even before it sets its own.
  pthread_sigmask(SIG_BLOCK, &all, &before);
  // Swift's backtracer stops threads by it, and says of one that blocks it that it could not. A program that blocks it
  // everywhere waits for it: then it must find no thread of ours to run on.
  if (sigismember(&before, SIGPROF) == 0) sigdelset(&thread->blocked, SIGPROF);
  int result = create(thread, thread->stack_bytes);
  // Where the thread-locals leave no room on the stack, the default must do.
  if (result == EINVAL) result = create(thread, 0);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = result;
  return result == 0 ? CS_SHIM_OK : cs_setup_failed(ret_failure, "pthread_create");
}

static void *watch(void *unused) {
  cs_watch_run(deadline_ms);
  return unused;
}

cs_shim_error cs_watcher_start(cs_shim_failure *ret_failure) {
  static cs_own_thread watcher = {.routine = watch, .stack_bytes = WATCHER_STACK_BYTES};
  // One that a start before this one made, and that then failed, sleeps still.
  if (watcher_pid == cs_getpid()) return CS_SHIM_OK;
  // A child that was made without fork handlers: its parent's threads may be in the handler, its own are not.
  if (watcher_pid != 0) cs_watcher_forget();
  deadline_ms = cs_environment_deadline_ms();
  if (deadline_ms == 0) return CS_SHIM_OK;
  const cs_shim_error error = cs_own_thread_start(&watcher, false, ret_failure);
  if (error != CS_SHIM_OK) return error;
  watcher_pid = cs_getpid();
  cs_watch_await();
  return CS_SHIM_OK;
}

void cs_watcher_forget(void) {
  watcher_pid = 0;
  cs_watch_forget();
}
