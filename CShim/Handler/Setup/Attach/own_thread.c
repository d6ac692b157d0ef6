// Creates the shield's threads, and starts the watchdog, which supervises the crash handler.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>

#include "../setup.h"

#include "../../Signal/Dispatch/watch.h"
#include "../../Signal/Dispatch/watchdog.h"

// The watchdog's own code only makes system calls and needs little stack. The size is larger, because glibc places the
// program's static thread-locals on this stack, and a profiler's signal handler can run on it. Unused pages need only
// address space.
#define WATCHDOG_STACK_BYTES (UINT64_C(256) * 1024)

// A thread that starts another one waits at most this number of times, one second each, until the new thread is ready.
// A single second can be too short on a busy machine.
#define READY_TRIES 10

static int watchdog_pid; // the process whose watchdog runs; a forked child has no watchdog
static uint32_t deadline_ms;
static bool leaves_profiling_open; // whether Swift's backtracer is enabled

static void *begin(void *context) {
  cs_own_thread *thread = context;
  // A sanitizer's pthread_create overwrites this thread's signal mask with that of the creating thread, so the mask is
  // set again.
  pthread_sigmask(SIG_SETMASK, &thread->mask, NULL);
  cs_own_tid_set(thread->role, cs_gettid());
  cs_system_call(SYS_prctl, PR_SET_NAME, (long)thread->name, 0, 0, 0, 0);
  if (thread->prepare != NULL) thread->prepare();
  __atomic_store_n(&thread->is_ready, 1, __ATOMIC_RELEASE);
  cs_own_wake(&thread->is_ready);
  thread->routine();
  // If crashd has refused the process, the connection's thread ends although the threads were not dismissed (asked to
  // end). Its thread ID is then cleared, because the kernel can reuse the ID. A dismissed thread does not clear its
  // thread ID. The caller that dismissed it waits, at most one second, until the kernel releases this ID.
  if (!cs_own_are_dismissed()) cs_own_tid_set(thread->role, 0);
  return NULL;
}

static void await(const cs_own_thread *thread) {
  const struct timespec patience = {.tv_sec = 1};
  for (int attempt = 0; attempt < READY_TRIES && __atomic_load_n(&thread->is_ready, __ATOMIC_ACQUIRE) == 0; attempt++)
    cs_own_sleep_while(&thread->is_ready, 0, &patience);
}

// Creates the thread and returns an errno value. `stack_bytes` is 0 for the default size.
static int create(cs_own_thread *thread, size_t stack_bytes) {
  pthread_t handle;
  pthread_attr_t attributes;
  int result = pthread_attr_init(&attributes);
  if (result != 0) return result;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  if (stack_bytes > 0) pthread_attr_setstacksize(&attributes, stack_bytes);
  // The signal mask applies from the thread's first instruction. If a signal in this mask is sent to the process, the
  // kernel chooses a thread that does not block it, so never this thread.
  result = pthread_attr_setsigmask_np(&attributes, &thread->mask);
  if (result == 0) result = pthread_create(&handle, &attributes, begin, thread);
  pthread_attr_destroy(&attributes);
  return result;
}

cs_shim_error cs_own_thread_start(cs_own_thread *thread, cs_shim_failure *ret_failure) {
  sigfillset(&thread->mask);
  // The signal mask of the starting thread is read only at the first start in a process. A later start happens on the
  // thread that calls setuid() or unshare(), which can have another mask.
  if (thread->starters_pid != cs_getpid()) pthread_sigmask(SIG_SETMASK, NULL, &thread->starters);
  thread->starters_pid = cs_getpid();
  // Swift's backtracer stops all threads with SIGPROF, and reports a failure if a thread blocks it. The shield's
  // threads must therefore accept SIGPROF. If the starting thread blocks SIGPROF, however, the program probably
  // receives this signal with sigwait(), and the shield's threads must block it too.
  if (leaves_profiling_open && sigismember(&thread->starters, SIGPROF) == 0) sigdelset(&thread->mask, SIGPROF);
  __atomic_store_n(&thread->is_ready, 0, __ATOMIC_RELAXED);
  int result = create(thread, thread->stack_bytes);
  // EINVAL means that the program's thread-locals do not fit on the small stack. The thread then gets a stack of the
  // default size.
  if (result == EINVAL) result = create(thread, 0);
  errno = result;
  if (result != 0) return cs_setup_failed(ret_failure, "pthread_create");
  await(thread);
  return CS_SHIM_OK;
}

// tgkill() fails with ESRCH after the kernel has released the thread ID. The kernel releases the ID after the thread
// has left the process.
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
  // If an earlier start of the shield created the watchdog and then failed, the watchdog still exists and sleeps.
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
