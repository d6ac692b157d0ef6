// Faults while locks of the C library are held: fork handlers, stdio, the list of threads.
#include "faults.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

// The signal by which glibc tells every thread of a new user or group id; pthread_sigmask does not block it.
#define SIGSETXID 33

static sem_t is_held;

static int wait_until_held(void) {
  while (sem_wait(&is_held) != 0) {
  }
  return 0;
}

static FAULT void cs_fault_prepare(void) {
  volatile int *number = opaque_pointer(0);
  *number = 42; // fault: atfork-lock-held
}

FAULT void cs_fault_atfork_lock_held(void) {
  if (pthread_atfork(cs_fault_prepare, NULL, NULL) != 0) return;
  if (fork() == 0) _exit(0);
}

static void *hold_stdio(void *unused) {
  flockfile(stdout);
  flockfile(stderr);
  sem_post(&is_held);
  for (;;)
    pause(); // Holds the locks until the process dies.
  return unused;
}

FAULT void cs_fault_stdio_lock_held(void) {
  pthread_t holder;
  if (sem_init(&is_held, 0, 0) != 0 || pthread_create(&holder, NULL, hold_stdio, NULL) != 0) return;
  wait_until_held();
  volatile int *number = opaque_pointer(0);
  *number = 42; // fault: stdio-lock-held
}

// Lets the thread that changes the group id wait for it, with the list of threads locked.
static void *refuse_setxid(void *unused) {
  const uint64_t blocked = UINT64_C(1) << (SIGSETXID - 1);
  uint64_t pending = 0;
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, &blocked, NULL, sizeof blocked);
  sem_post(&is_held);
  while ((pending & blocked) == 0)
    syscall(SYS_rt_sigpending, &pending, sizeof pending);
  sem_post(&is_held);
  for (;;)
    pause();
  return unused;
}

static void *change_group(void *unused) {
  if (setgid(getgid()) != 0) _exit(1);
  return unused;
}

FAULT void cs_fault_thread_list_lock(void) {
  pthread_t refuser, changer;
  if (sem_init(&is_held, 0, 0) != 0 || pthread_create(&refuser, NULL, refuse_setxid, NULL) != 0) return;
  wait_until_held();
  if (pthread_create(&changer, NULL, change_group, NULL) != 0) return;
  wait_until_held();
  volatile int *number = opaque_pointer(0);
  *number = 42; // fault: thread-list-lock
}
