// Stops the shield's threads before two kinds of calls, and restarts them after the call (docs/decisions/0115). The
// kernel refuses some calls, such as unshare(), to a process with several threads. libc repeats other calls, such as
// setuid(), in every thread, and ends the process if they fail in only some threads.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <errno.h>

#include "../Attach/link.h"
#include "../Ring/caller.h"
#include "../setup.h"

#include "../../Signal/Deliver/news.h"
#include "../../Signal/Dispatch/watch.h"

// The maximum time to wait until the shield's threads end, as a number of tries and the pauses between them. The pauses
// grow from FIRST_SLEEP_NS to LEAVE_SLEEP_NS, and all tries together take about one second. The limit is necessary
// because one of these threads can be running a callback of the program, which can take any time.
#define LEAVE_TRIES    2000
#define LEAVE_SLEEP_NS 500000
#define FIRST_SLEEP_NS 20000

static uint32_t is_taken; // atomic: 1 while a thread has ended the shield's threads and has not yet restarted them

static bool have_all_ended(void) {
  bool have = true;
  for (int role = 0; role < CS_OWN_ROLES; role++)
    have = cs_own_thread_has_ended((cs_own_role)role) && have;
  return have;
}

static bool has_threads(void) {
  const int self = cs_gettid();
  bool has_any = false;
  for (int role = 0; role < CS_OWN_ROLES; role++) {
    const int tid = cs_own_tid((cs_own_role)role);
    // If a callback of the program makes the call, this code runs on the shield's thread for callbacks (caller.h),
    // which cannot end before the callback returns.
    if (tid == self) return false;
    has_any = has_any || tid != 0;
  }
  return has_any && (cs_own_tid(CS_OWN_LINK) == 0 || cs_link_can_be_woken());
}

static bool wait_for_end(void) {
  long sleep_ns = FIRST_SLEEP_NS;
  for (int attempt = 0; attempt < LEAVE_TRIES; attempt++) {
    // Each try wakes the threads again, because a thread that was about to sleep can have missed an earlier wake-up.
    cs_watch_wake();
    cs_caller_wake();
    cs_link_wake();
    if (have_all_ended()) return true;
    cs_sleep_ns(sleep_ns);
    if (sleep_ns < LEAVE_SLEEP_NS) sleep_ns *= 2;
  }
  return false;
}

static void start_again(void) {
  cs_shim_failure unused;
  const bool has_watchdog = !cs_own_thread_has_ended(CS_OWN_WATCHDOG);
  const bool has_caller = !cs_own_thread_has_ended(CS_OWN_CALLER);
  const bool has_link = !cs_own_thread_has_ended(CS_OWN_LINK);
  cs_own_dismiss(false);
  // A restart fails if a limit on the number of processes is reached, or if the process has called unshare() or setns()
  // for a pid namespace. The shield then stays without threads. A crash is still recorded, because the handler connects
  // to crashd itself.
  if (!has_watchdog) (void)cs_watchdog_restart(&unused);
  if (!has_caller) (void)cs_caller_restart(&unused);
  if (!has_link) (void)cs_attach_client_restart(&unused);
}

static bool is_free(void) {
  return __atomic_load_n(&is_taken, __ATOMIC_ACQUIRE) == 0;
}

void cs_own_threads_await_return(void) {
  // This loop waits up to one second for the thread that has set `is_taken`. If this code runs in a signal handler that
  // interrupted that same thread, `is_taken` cannot change, and the loop ends after the last try.
  for (int attempt = 0; attempt < LEAVE_TRIES && !is_free(); attempt++)
    cs_sleep_ns(LEAVE_SLEEP_NS);
}

// acquire: pairs with the release store of the previous holder.
static bool take(void) {
  uint32_t free = 0;
  return __atomic_compare_exchange_n(&is_taken, &free, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

bool cs_own_threads_step_aside(bool waits) {
  const int before = errno;
  if (!cs_shim_is_started() || !has_threads()) return false;
  bool has_taken = take();
  if (!has_taken && waits) {
    cs_own_threads_await_return();
    has_taken = take();
  }
  if (!has_taken) return false;
  cs_own_dismiss(true);
  const bool have_ended = wait_for_end();
  if (!have_ended) cs_own_threads_return();
  errno = before;
  return have_ended;
}

void cs_own_threads_return(void) {
  const int before = errno;
  start_again();
  __atomic_store_n(&is_taken, 0, __ATOMIC_RELEASE);
  errno = before;
}

void cs_own_threads_forget(void) {
  __atomic_store_n(&is_taken, 0, __ATOMIC_RELAXED);
  cs_own_forget();
  cs_news_forget();
}

#endif
