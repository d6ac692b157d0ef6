// Crashes while other threads wait, run, or block all signals.
#include "instructions.h"
#include "ways.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cs_testing.h"

#define IDLE_COUNT     1000
#define SPINNING_COUNT 100
#define GONE_COUNT     8
#define STACK_BYTES    ((size_t)PTHREAD_STACK_MIN + 49152)

static volatile uint32_t *volatile nowhere = (volatile uint32_t *)8;
static pthread_barrier_t ready;
static sem_t never;

static void *idle(void *unused) {
  pthread_barrier_wait(&ready);
  while (sem_wait(&never) != 0) {
  }
  return unused;
}

static void *spin(void *unused) {
  pthread_barrier_wait(&ready);
  for (volatile uint32_t count = 0;; count = count + 1) {
  }
  return unused;
}

static void *block_signals(void *unused) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
  return idle(unused);
}

static void make_threads(int count, void *(*routine)(void *)) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, STACK_BYTES);
  sem_init(&never, 0, 0);
  pthread_barrier_init(&ready, NULL, (unsigned)count + 1);
  for (int index = 0; index < count; index++) {
    pthread_t thread;
    if (pthread_create(&thread, &attributes, routine, NULL) != 0) _exit(91);
  }
  pthread_barrier_wait(&ready);
}

static void take_sample(int signal) {
  (void)signal;
}

// A handler that is installed before the shield starts, so it runs after the thread sweep (the recording of the other
// threads).
static void check_profiler(int signal) {
  struct sigaction present;
  (void)signal;
  const bool is_there = sigaction(SIGPROF, NULL, &present) == 0 && present.sa_handler == take_sample;
  _exit(is_there && (present.sa_flags & (SA_RESTART | SA_ONSTACK)) == SA_RESTART ? 0 : 1);
}

static void profile(void) {
  const struct sigaction sample = {.sa_handler = take_sample, .sa_flags = SA_RESTART};
  const struct sigaction check = {.sa_handler = check_profiler};
  const struct itimerval often = {.it_interval = {.tv_usec = 1000}, .it_value = {.tv_usec = 1000}};
  sigaction(SIGPROF, &sample, NULL);
  sigaction(SIGSEGV, &check, NULL);
  sigaction(SIGABRT, &check, NULL); // installed before the start, so that it is called after the sweep
  setitimer(ITIMER_PROF, &often, NULL);
}

static void *wait_for_release(void *unused) {
  pthread_barrier_wait(&ready);
  pthread_barrier_wait(&ready);
  return unused;
}

// Causes a crash that the program survives, beside GONE_COUNT threads, which then end before the second crash.
static void survive_crash(void) {
  pthread_t threads[GONE_COUNT];
  pthread_barrier_init(&ready, NULL, GONE_COUNT + 1);
  for (int index = 0; index < GONE_COUNT; index++) {
    if (pthread_create(&threads[index], NULL, wait_for_release, NULL) != 0) _exit(92);
  }
  pthread_barrier_wait(&ready);
  raise(SIGTRAP);
  pthread_barrier_wait(&ready);
  for (int index = 0; index < GONE_COUNT; index++)
    pthread_join(threads[index], NULL);
}

void cs_test_hide_proc(void) {
  if (mount("none", "/proc", "tmpfs", 0, NULL) != 0) _exit(93);
}

void cs_test_leave_namespaces(int which) {
  if (unshare(which | CLONE_NEWNS) != 0 && unshare(which | CLONE_NEWNS | CLONE_NEWUSER) != 0) _exit(94);
  if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) _exit(95);
}

static int crash_beside_foreign_proc(const char *directory) {
  cs_test_leave_namespaces(CLONE_NEWPID);
  const int child = fork();
  if (child == 0) {
    cs_test_start(directory);
    make_threads(1, idle);
    *nowhere = 1;
  }
  const int status = cs_test_wait(child);
  return status >= 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV ? 0 : 1;
}

// A handler of SIGTRAP that was installed before the shield started.
static void crash_in_handler(int signal) {
  (void)signal;
  abort();
}

int cs_test_sweep_run(cs_test_way way, const char *directory) {
  if (way == CS_TEST_HELD_STACK || way == CS_TEST_HELD_REMINDER) return cs_test_held_run(way, directory);
  if (way == CS_TEST_SWEEP_FOREIGN_PROC) return crash_beside_foreign_proc(directory);
  const bool is_off = way == CS_TEST_SWEEP_OFF || way == CS_TEST_SWEEP_OFF_TOGETHER;
  const bool comes_again = way == CS_TEST_SWEEP_AGAIN || way == CS_TEST_SWEEP_NOT_AGAIN;
  if (is_off) setenv("CRASHSHIELD_SWEEP_MS", "0", 1);
  if (comes_again) signal(SIGTRAP, take_sample);
  if (way == CS_TEST_SWEEP_HANDLER_CRASHES) signal(SIGTRAP, crash_in_handler);
  if (way == CS_TEST_SWEEP_NO_PROC) cs_test_leave_namespaces(0);
  // If a test expects an answer from every thread, the thread sweep gets more time, because threads answer late on a
  // busy machine.
  const bool has_all = way != CS_TEST_SWEEP_SPINNING && way != CS_TEST_SWEEP_PROFILER && !is_off;
  if (has_all) setenv("CRASHSHIELD_SWEEP_MS", "800", 1);
  if (way == CS_TEST_SWEEP_PROFILER) profile();
  cs_test_start(directory);
  if (way == CS_TEST_SWEEP_IDLE) make_threads(IDLE_COUNT, idle);
  if (way == CS_TEST_SWEEP_SPINNING) make_threads(SPINNING_COUNT, spin);
  if (way == CS_TEST_SWEEP_BLOCKED) make_threads(1, block_signals);
  if (way == CS_TEST_SWEEP_PROFILER) make_threads(8, spin);
  if (comes_again) survive_crash();
  if (comes_again || way == CS_TEST_SWEEP_NO_PROC) make_threads(comes_again ? 2 : 1, idle);
  if (way == CS_TEST_SWEEP_NO_PROC) cs_test_hide_proc();
  if (way == CS_TEST_SWEEP_HANDLER_CRASHES) {
    make_threads(2, idle);
    cs_test_breakpoint();
  }
  if (way == CS_TEST_SWEEP_NOT_AGAIN) cs_testing_inject(CS_INJECT_CRASH, CS_INJECT_SWEEP);
  if (way == CS_TEST_SWEEP_OFF_TOGETHER) cs_test_crash_on_threads(8);
  *nowhere = 1;
  return 2;
}
