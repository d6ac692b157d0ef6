// Faults in processes with many threads, and with threads that cannot be sampled.
#include "faults.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_barrier_t start_line;
static sem_t is_running;

static void wait_for(int count) {
  for (int index = 0; index < count; index++) {
    while (sem_wait(&is_running) != 0) {
    }
  }
}

// Starts threads with small stacks, so that a thousand threads are possible on every machine.
static int start_threads(int count, void *(*body)(void *)) {
  pthread_t thread;
  pthread_attr_t attributes;
  if (sem_init(&is_running, 0, 0) != 0 || pthread_attr_init(&attributes) != 0) return -1;
  if (pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN + 49152) != 0) return -1;
  for (int index = 0; index < count; index++) {
    if (pthread_create(&thread, &attributes, body, NULL) != 0) return -1;
  }
  return 0;
}

static FAULT void *cs_fault_together(void *unused) {
  pthread_barrier_wait(&start_line);
  volatile int *number = opaque_pointer(0);
  *number = 42; // fault: simultaneous
  return unused;
}

static void crash_together(unsigned count) {
  if (pthread_barrier_init(&start_line, NULL, count) != 0) return;
  if (start_threads((int)count - 1, cs_fault_together) == 0) cs_fault_together(NULL);
}

FAULT void cs_fault_simultaneous_2(void) {
  crash_together(2);
}

FAULT void cs_fault_simultaneous_8(void) {
  crash_together(8);
}

FAULT void cs_fault_simultaneous_64(void) {
  crash_together(64);
}

static void *idle(void *unused) {
  sem_post(&is_running);
  for (;;)
    pause();
  return unused;
}

FAULT void cs_fault_many_threads(void) {
  if (start_threads(1000, idle) != 0) return;
  wait_for(1000);
  volatile int *number = opaque_pointer(0);
  *number = 42; // fault: many-threads
}

static void *spin(void *unused) {
  sem_post(&is_running);
  for (;;)
    cs_opaque(1);
  return unused;
}

FAULT void cs_fault_spinning_threads(void) {
  if (start_threads(100, spin) != 0) return;
  wait_for(100);
  volatile int *number = opaque_pointer(0);
  *number = 42; // fault: spinning-threads
}

static void *block_signals(void *unused) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
  return idle(unused);
}

FAULT void cs_fault_blocked_signals_thread(void) {
  if (start_threads(1, block_signals) != 0) return;
  wait_for(1);
  volatile int *number = opaque_pointer(0);
  *number = 42; // fault: blocked-signals-thread
}

// Waits in vfork: the parent waits uninterruptibly until its child ends, and this child ends when the parent is killed.
__attribute__((noinline)) static void *wait_for_vfork(void *unused) {
  if (vfork() == 0) {
    prctl(PR_SET_PDEATHSIG, (long)SIGKILL, 0L, 0L, 0L);
    sem_post(&is_running);
    for (;;)
      pause();
  }
  return unused;
}

FAULT void cs_fault_uninterruptible_thread(void) {
  if (start_threads(1, wait_for_vfork) != 0) return;
  wait_for(1);
  volatile int *number = opaque_pointer(0);
  *number = 42; // fault: uninterruptible-thread
}

static void *end_at_once(void *unused) {
  return unused;
}

static void *create_forever(void *unused) {
  pthread_t thread;
  sem_post(&is_running);
  for (;;) {
    if (pthread_create(&thread, NULL, end_at_once, NULL) == 0) pthread_join(thread, NULL);
  }
  return unused;
}

FAULT void cs_fault_crash_while_creating_threads(void) {
  if (start_threads(4, create_forever) != 0) return;
  wait_for(4);
  volatile int *number = opaque_pointer(0);
  *number = 42; // fault: crash-while-creating-threads
}

static FAULT void *cs_fault_watch(void *unused) {
  abort(); // fault: watchdog-abort
  return unused;
}

FAULT void cs_fault_watchdog_abort(void) {
  if (start_threads(1, cs_fault_watch) != 0) return;
  // Wait at most ten seconds; the process normally ends in the first second.
  for (int second = 0; second < 10; second++) {
    sleep(1);
  }
}
