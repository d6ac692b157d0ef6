// A crash interrupts the system call of another thread. The shield then holds this other thread, while a handler of the
// program handles the crash.
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../../../CShim/Handler/Signal/Threads/halt.h"
#include "../../../../CShim/Handler/Signal/Threads/halt_turn.h"
#include "../../../../CShim/Handler/Signal/Threads/sweep_turn.h"
#include "ways.h"

static pthread_t waiter;
static _Atomic int waiter_tid;
static char *stack_start; // the stack of the waiting thread
static char *stack_end;
static sem_t is_handled;
static bool is_on_own_stack;
static sigjmp_buf after_crash;

// A handler that is installed without SA_ONSTACK.
static void note_stack(int signal) {
  // AddressSanitizer can place local variables on another stack.
  char *address = __builtin_frame_address(0);
  (void)signal;
  is_on_own_stack = address >= stack_start && address < stack_end;
  sem_post(&is_handled);
}

static void *wait_for_signals(void *unused) {
  pthread_attr_t attributes;
  void *start = NULL;
  size_t size = 0;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &start, &size);
  pthread_attr_destroy(&attributes);
  stack_start = start;
  stack_end = stack_start + size;
  waiter_tid = gettid();
  for (;;)
    pause();
  return unused;
}

static bool is_asleep(int tid) {
  char path[64];
  char text[512] = {0};
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  (void)!read(file, text, sizeof text - 1);
  close(file);
  const char *name_end = strrchr(text, ')');
  return name_end != NULL && strncmp(name_end, ") S", 3) == 0;
}

// A handler of SIGSEGV that was installed before the shield started. When it runs, the thread sweep (the recording of
// the other threads) has ended, and the shield keeps the waiting thread stopped.
static void signal_waiter(int signal) {
  (void)signal;
  pthread_kill(waiter, SIGUSR1);
  while (sem_wait(&is_handled) != 0) {
  }
  siglongjmp(after_crash, 1);
}

static int is_signalled_on_own_stack(const char *directory) {
  const struct sigaction first = {.sa_handler = signal_waiter};
  const struct sigaction note = {.sa_handler = note_stack};
  sem_init(&is_handled, 0, 0);
  sigaction(SIGSEGV, &first, NULL);
  sigaction(SIGUSR1, &note, NULL);
  cs_test_start(directory);
  if (pthread_create(&waiter, NULL, wait_for_signals, NULL) != 0) return 1;
  while (waiter_tid == 0 || !is_asleep(waiter_tid))
    usleep(1000);
  if (sigsetjmp(after_crash, 1) == 0) *(volatile int *)(uintptr_t)16 = 1;
  return is_on_own_stack ? 0 : 2;
}

// The halt is the code that keeps threads stopped while a handler from before the start runs. Tests that the halt sends
// no SIGPROF after the thread sweep has restored the action of SIGPROF. A SIGPROF would end this process.
static int is_not_reminded(const char *directory) {
  cs_test_start(directory);
  if (!cs_sweep_take_signal()) return 1;
  cs_sweep_give_signal_back();
  cs_halt_begin();
  (void)cs_halt_has_had_turn(gettid());
  cs_halt_remind();
  return 0;
}

int cs_test_held_run(cs_test_way way, const char *directory) {
  return way == CS_TEST_HELD_STACK ? is_signalled_on_own_stack(directory) : is_not_reminded(directory);
}
