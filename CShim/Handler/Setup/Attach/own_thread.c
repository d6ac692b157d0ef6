// The threads that the shield has of its own: how each is made, and the one that watches the handler.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>

#include "../setup.h"

#include "../../Signal/Dispatch/watch.h"
#include "../../Signal/Dispatch/watchdog.h"

// The watchdog only makes system calls; but glibc takes the program's static thread-locals from the stack, and a
// profiler's handler runs on it. What is never touched costs address space only.
#define WATCHDOG_STACK_BYTES (UINT64_C(256) * 1024)

// How long a thread may take until it is ready, on a machine that is busy: so many seconds.
#define READY_TRIES 10

static int watchdog_pid; // the process that has a watchdog; a forked child has none
static uint32_t deadline_ms;
static bool leaves_profiling_open; // Swift's backtracer is asked for

static void *begin(void *context) {
  cs_own_thread *thread = context;
  // A sanitizer's pthread_create gives the thread the mask of the thread that made it.
  pthread_sigmask(SIG_SETMASK, &thread->mask, NULL);
  cs_own_tid_set(thread->role, cs_gettid());
  cs_system_call(SYS_prctl, PR_SET_NAME, (long)thread->name, 0, 0, 0, 0);
  if (thread->prepare != NULL) thread->prepare();
  __atomic_store_n(&thread->is_ready, 1, __ATOMIC_RELEASE);
  cs_own_wake(&thread->is_ready);
  thread->routine();
  // A link that crashd has refused: its number may become another thread's. One that was dismissed keeps it, so that
  // the call that waits for its end sees when the kernel has forgotten it.
  if (!cs_own_are_dismissed()) cs_own_tid_set(thread->role, 0);
  return NULL;
}

static void await(const cs_own_thread *thread) {
  const struct timespec patience = {.tv_sec = 1};
  for (int attempt = 0; attempt < READY_TRIES && __atomic_load_n(&thread->is_ready, __ATOMIC_ACQUIRE) == 0; attempt++)
    cs_own_sleep_while(&thread->is_ready, 0, &patience);
}

// A stack of 0 bytes is one of the default size. Returns errno's value.
static int create(cs_own_thread *thread, size_t stack_bytes) {
  pthread_t handle;
  pthread_attr_t attributes;
  int result = pthread_attr_init(&attributes);
  if (result != 0) return result;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  if (stack_bytes > 0) pthread_attr_setstacksize(&attributes, stack_bytes);
  // From its first instruction on: what a process is sent never waits for one of our threads.
  result = pthread_attr_setsigmask_np(&attributes, &thread->mask);
  if (result == 0) result = pthread_create(&handle, &attributes, begin, thread);
  pthread_attr_destroy(&attributes);
  return result;
}

cs_shim_error cs_own_thread_start(cs_own_thread *thread, cs_shim_failure *ret_failure) {
  sigfillset(&thread->mask);
  // A restart is made by whatever thread calls setuid() or unshare().
  if (thread->starters_pid != cs_getpid()) pthread_sigmask(SIG_SETMASK, NULL, &thread->starters);
  thread->starters_pid = cs_getpid();
  // Swift's backtracer stops threads by it, and says of one that blocks it that it could not. A program that blocks it
  // everywhere waits for it: then it must find no thread of ours to run on.
  if (leaves_profiling_open && sigismember(&thread->starters, SIGPROF) == 0) sigdelset(&thread->mask, SIGPROF);
  __atomic_store_n(&thread->is_ready, 0, __ATOMIC_RELAXED);
  int result = create(thread, thread->stack_bytes);
  // Where the thread-locals leave no room on the stack, the default must do.
  if (result == EINVAL) result = create(thread, 0);
  errno = result;
  if (result != 0) return cs_setup_failed(ret_failure, "pthread_create");
  await(thread);
  return CS_SHIM_OK;
}

// The kernel forgets the number of a thread when it takes it out of the process.
bool cs_own_thread_has_ended(cs_own_role role) {
  const int tid = cs_own_tid(role);
  if (tid == 0) return true;
  if (cs_system_call(SYS_tgkill, cs_getpid(), tid, 0, 0, 0, 0) != -ESRCH) return false;
  cs_own_tid_set(role, 0);
  return true;
}

void cs_own_sleep_while(const uint32_t *word, uint32_t value, const struct timespec *at_most) {
  cs_system_call(SYS_futex, (long)word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, value, (long)at_most, 0, 0);
}

void cs_own_wake(const uint32_t *word) {
  cs_system_call(SYS_futex, (long)word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT32_MAX, 0, 0, 0);
}

static void watch(void) {
  cs_watchdog_run(deadline_ms);
}

cs_shim_error cs_watchdog_restart(cs_shim_failure *ret_failure) {
  static cs_own_thread watchdog = {
      .routine = watch, .stack_bytes = WATCHDOG_STACK_BYTES, .role = CS_OWN_WATCHDOG, .name = "crashshield-w"};
  if (deadline_ms == 0) return CS_SHIM_OK;
  return cs_own_thread_start(&watchdog, ret_failure);
}

cs_shim_error cs_watchdog_start(cs_shim_failure *ret_failure) {
  // One that a start before this one made, and that then failed, sleeps still.
  if (watchdog_pid == cs_getpid()) return CS_SHIM_OK;
  deadline_ms = cs_environment_deadline_ms();
  leaves_profiling_open = cs_environment_asks_for_backtracer();
  const cs_shim_error error = cs_watchdog_restart(ret_failure);
  if (error != CS_SHIM_OK || deadline_ms == 0) return error;
  watchdog_pid = cs_getpid();
  cs_watch_await();
  return CS_SHIM_OK;
}

bool cs_watchdog_is_inherited(void) {
  return watchdog_pid != 0 && watchdog_pid != cs_getpid();
}

void cs_watchdog_forget(void) {
  watchdog_pid = 0;
  cs_watch_forget();
}

#endif
