// Faults while locks of the C library are held: fork handlers, stdio, the list of threads.
#include "../faults.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

// The signal that glibc sends to every thread to set a new user or group id. pthread_sigmask cannot block it.
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
    pause(); // Holds the locks until the process ends.
  return unused;
}

FAULT void cs_fault_stdio_lock_held(void) {
  pthread_t holder;
  if (sem_init(&is_held, 0, 0) != 0 || pthread_create(&holder, NULL, hold_stdio, NULL) != 0) return;
  wait_until_held();
  volatile int *number = opaque_pointer(0);
  *number = 42; // fault: stdio-lock-held
}

// Blocks SIGSETXID in this thread. Another thread that changes the group id then waits for this thread, and holds the
// lock of the thread list during the wait.
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

static FAULT ssize_t cs_fault_write_cookie(void *cookie, const char *bytes, size_t size) {
  (void)bytes;
  volatile int *number = cookie;
  *number = 42; // fault: inside-stdio
  return (ssize_t)size;
}

// Crashes while this thread holds stdio's locks: the lock of one stream, the locks of the standard streams, and the
// lock of the list of all streams.
FAULT void cs_fault_inside_stdio(void) {
  const cookie_io_functions_t functions = {.write = cs_fault_write_cookie};
  FILE *file = fopencookie(opaque_pointer(0), "w", functions);
  flockfile(stdout);
  flockfile(stderr);
  if (file == NULL || fputs("order", file) < 0) return;
  fflush(NULL);
  cs_opaque(1);
}

// Sends SIGABRT to the thread `waiting`, which is inside setgid(): setgid() waits until this thread has set its new
// group id.
static void *abort_setxid(void *waiting) {
  const uint64_t blocked = UINT64_C(1) << (SIGSETXID - 1);
  uint64_t pending = 0;
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, &blocked, NULL, sizeof blocked);
  sem_post(&is_held);
  while ((pending & blocked) == 0)
    syscall(SYS_rt_sigpending, &pending, sizeof pending);
  syscall(SYS_tgkill, getpid(), *(pid_t *)waiting, SIGABRT);
  for (;;)
    pause();
  return NULL;
}

FAULT void cs_fault_inside_setxid(void) {
  static pid_t self;
  pthread_t other;
  sigset_t abort_only;
  self = gettid();
  // Unblock SIGABRT, which the parent of this program can have blocked.
  sigemptyset(&abort_only);
  sigaddset(&abort_only, SIGABRT);
  pthread_sigmask(SIG_UNBLOCK, &abort_only, NULL);
  if (sem_init(&is_held, 0, 0) != 0 || pthread_create(&other, NULL, abort_setxid, &self) != 0) return;
  wait_until_held();
  const int error = setgid(getgid()); // fault: inside-setxid
  cs_opaque(error);
}

static void stay_in_fork(void) {
  sem_post(&is_held);
  for (;;)
    pause();
}

static void *fork_for_ever(void *unused) {
  if (fork() == 0) _exit(0);
  return unused;
}

FAULT void cs_fault_fork_lock_held_by_other(void) {
  pthread_t other;
  if (sem_init(&is_held, 0, 0) != 0 || pthread_atfork(stay_in_fork, NULL, NULL) != 0) return;
  if (pthread_create(&other, NULL, fork_for_ever, NULL) != 0) return;
  wait_until_held();
  volatile int *number = opaque_pointer(0);
  *number = 42; // fault: fork-lock-held-by-other
}
