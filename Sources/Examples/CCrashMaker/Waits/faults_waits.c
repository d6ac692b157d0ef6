// A thread crashes while the main thread waits in a system call or library call. Each call has its own scenario. If the
// crash interrupted the call, the main thread would end the process with success, which must not happen.
#include "../faults.h"
#include "waits.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// The maximum time for which a busy thread computes after another thread has crashed. The shield stops the busy thread
// before this time has passed.
#define BUSY_NS INT64_C(1000000000)
// The time for which the program's own crash handler runs.
#define HANDLER_NS INT64_C(20000000)

static pthread_t crasher;
static int crasher_tid;
static bool is_about_to_crash; // accessed only by atomic operations
static int profiling[2];       // a pipe into which the child of wait_for_child() writes

static void wait_pthread_join(void) {
  pthread_join(crasher, NULL);
}

// Starts a child that runs as long as this process. Before the child ends, it calls `at_end`, which can remove objects
// that the kernel would keep.
static int child_until_end(void (*at_end)(int), int number) {
  int ends[2] = {-1, -1};
  char byte;
  (void)!pipe(ends);
  const int child = fork();
  if (child != 0) return child;
  close(ends[1]);
  while (read(ends[0], &byte, 1) < 0 && errno == EINTR) {
  }
  if (at_end != NULL) at_end(number);
  _exit(0);
}

static void remove_queue(int number) {
  msgctl(number, IPC_RMID, NULL);
}

static void remove_semaphores(int number) {
  semctl(number, 0, IPC_RMID);
}

static void wait_waitpid(void) {
  waitpid(child_until_end(NULL, 0), NULL, 0);
}

static void wait_msgrcv(void) {
  struct {
    long type;
    char text[8];
  } message;
  const int queue = msgget(IPC_PRIVATE, 0600);
  child_until_end(remove_queue, queue);
  msgrcv(queue, &message, sizeof message.text, 0, 0);
}

static void wait_semop(void) {
  struct sembuf take = {.sem_op = -1};
  const int set = semget(IPC_PRIVATE, 1, 0600);
  child_until_end(remove_semaphores, set);
  semop(set, &take, 1);
}

// Returns the processor time that this thread has used.
static int64_t used_ns(void) {
  struct timespec used;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return used.tv_sec * INT64_C(1000000000) + used.tv_nsec;
}

static void wait_busy(void) {
  while (!__atomic_load_n(&is_about_to_crash, __ATOMIC_ACQUIRE))
    cs_opaque(1);
  for (const int64_t start = used_ns(); used_ns() - start < BUSY_NS;)
    cs_opaque(1);
}

static void do_nothing(int signal) {
  (void)signal;
}

// Returns whether the thread waits on a futex. In the scenarios of this file, the thread waits on a futex only after
// the crash of another thread stopped it.
static bool is_on_futex(int tid) {
  char path[64];
  char text[128];
  snprintf(path, sizeof path, "/proc/self/task/%d/wchan", tid);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const long size = read(file, text, sizeof text - 1);
  close(file);
  text[size > 0 ? size : 0] = 0;
  return strstr(text, "futex") != NULL;
}

// Blocks in vfork, so that this thread does not handle signals. The crash handler waits for this thread until the
// handler's timeout. This wait is long enough to stop even a thread that gets little processor time. Under
// ThreadSanitizer, vfork is a fork, which does not block the thread.
static void *wait_for_child(void *unused) {
  int ends[2] = {-1, -1};
  char byte = 0;
  (void)!pipe(ends);
  if (vfork() == 0) {
    close(ends[1]);
    (void)!write(profiling[1], &byte, 1);
    (void)!read(ends[0], &byte, 1);
    _exit(0);
  }
  return unused;
}

// Waits like a profiler that samples the crashing thread by SIGPROF. The crash handler stops other threads by SIGPROF.
// The calling thread blocks SIGPROF, so the handler does not stop it.
static void wait_profiled(void) {
  const struct sigaction sample = {.sa_handler = do_nothing, .sa_flags = SA_RESTART};
  pthread_t other;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPROF);
  sigaction(SIGPROF, &sample, NULL);
  if (pthread_create(&other, NULL, wait_for_child, NULL) != 0) return;
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  while (!__atomic_load_n(&is_about_to_crash, __ATOMIC_ACQUIRE))
    cs_opaque(1);
  while (!is_on_futex(crasher_tid))
    syscall(SYS_tgkill, getpid(), crasher_tid, SIGPROF);
}

// The waits that depend on the crashing thread or on another process.
static const cs_wait own_waits[] = {
    {"pthread-join", wait_pthread_join},
    {"waitpid", wait_waitpid},
    {"msgrcv", wait_msgrcv},
    {"semop", wait_semop},
    {"busy", wait_busy},
    {"profiled", wait_profiled},
};

#define OWN_WAIT_COUNT (int)(sizeof own_waits / sizeof *own_waits)

static const cs_wait *way_at(int way) {
  if (way < CS_PLAIN_WAIT_COUNT) return &cs_plain_waits[way];
  const int rest = way - CS_PLAIN_WAIT_COUNT;
  return rest < OWN_WAIT_COUNT ? &own_waits[rest] : &cs_signal_waits[rest - OWN_WAIT_COUNT];
}

int cs_fault_main_waits_count(void) {
  return CS_PLAIN_WAIT_COUNT + OWN_WAIT_COUNT + CS_SIGNAL_WAIT_COUNT;
}

const char *cs_fault_main_waits_name(int way) {
  return way_at(way)->name;
}

// Returns whether the thread sleeps in the kernel.
static bool is_asleep(int tid) {
  char path[64];
  char text[512];
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const long size = read(file, text, sizeof text - 1);
  close(file);
  if (size <= 0) return false;
  text[size] = 0;
  const char *name_end = strrchr(text, ')');
  return name_end != NULL && name_end[1] == ' ' && name_end[2] == 'S';
}

typedef struct waiting {
  int tid;
  bool is_busy;
  bool is_profiler;
} waiting;

static FAULT void *cs_fault_beside_waiting(void *context) {
  const waiting *other = context;
  // Require two consecutive samples in which the thread sleeps, because the thread can sleep briefly before it reaches
  // the call.
  for (int seen = 0; !other->is_busy && seen < 2;) {
    usleep(2000);
    seen = is_asleep(other->tid) ? seen + 1 : 0;
  }
  char byte;
  if (other->is_profiler) (void)!read(profiling[0], &byte, 1);
  volatile int *number = opaque_pointer(0);
  crasher_tid = (int)syscall(SYS_gettid);
  __atomic_store_n(&is_about_to_crash, true, __ATOMIC_RELEASE);
  *number = 42; // fault: main-waits
  return NULL;
}

static struct sigaction before;

// Handles the signal like a program's crash logger: the handler runs for a while, and then passes the signal to the
// next handler.
static void work_and_pass_on(int signal, siginfo_t *information, void *context) {
  for (const int64_t start = used_ns(); used_ns() - start < HANDLER_NS;)
    cs_opaque(1);
  before.sa_sigaction(signal, information, context);
}

// Crashes while the main thread waits. If the main thread's call returns, the main thread ends the process with
// success.
void cs_fault_main_waits(int way) {
  const bool is_profiler = way_at(way)->wait == wait_profiled;
  waiting self = {.tid = (int)syscall(SYS_gettid),
                  .is_busy = way_at(way)->wait == wait_busy || is_profiler,
                  .is_profiler = is_profiler};
  if (getenv("CRASH_MAKER_HANDLER") != NULL) {
    struct sigaction slow = {.sa_sigaction = work_and_pass_on, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &slow, &before);
  }
  if (is_profiler && pipe(profiling) != 0) return;
  if (pthread_create(&crasher, NULL, cs_fault_beside_waiting, &self) != 0) return;
  way_at(way)->wait();
  _exit(0);
}
