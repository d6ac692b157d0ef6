// Crashes beside threads that wait, run, or block all signals.
#include "ways.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define IDLE_COUNT     1000
#define SPINNING_COUNT 100
#define STACK_BYTES    65536

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

// Of SIGSEGV, before the shield's: it runs after the sweep.
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
  setitimer(ITIMER_PROF, &often, NULL);
}

int cs_test_sweep_run(cs_test_way way, const char *directory) {
  if (way == CS_TEST_SWEEP_OFF) setenv("CRASHSHIELD_SWEEP_MS", "0", 1);
  // A busy machine takes its time.
  if (way == CS_TEST_SWEEP_IDLE || way == CS_TEST_SWEEP_BLOCKED) setenv("CRASHSHIELD_SWEEP_MS", "800", 1);
  if (way == CS_TEST_SWEEP_PROFILER) profile();
  cs_test_start(directory);
  if (way == CS_TEST_SWEEP_IDLE) make_threads(IDLE_COUNT, idle);
  if (way == CS_TEST_SWEEP_SPINNING) make_threads(SPINNING_COUNT, spin);
  if (way == CS_TEST_SWEEP_BLOCKED) make_threads(1, block_signals);
  if (way == CS_TEST_SWEEP_PROFILER) make_threads(8, spin);
  *nowhere = 1;
  return 2;
}
