// Tests of the signal handler in which a test injects a stall or a fault into the handler.
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "../../../../CShim/Handler/Signal/Capture/registers.h"
#include "../../../../CShim/Handler/Signal/Dispatch/watch.h"
#include "../../../../CShim/Handler/Signal/Kernel/system_call.h"
#include "cs_ring_access.h"
#include "cs_testing.h"
#include "instructions.h"
#include "ways.h"

// NEVER_MS is a timeout that only a failing test reaches.
#define NEVER_MS      60000
#define AT_ONCE_MS    10
#define NAP_NS        20000000
#define NAP_TRIES     1000
#define NOWHERE       ((uintptr_t)8)
#define CHILD_IS_WELL 77
#define FIRST_PROCESS 1

static volatile uint32_t *volatile nowhere = (volatile uint32_t *)NOWHERE;

static void set_patience(uint32_t kernel_ms) {
  char text[16];
  snprintf(text, sizeof text, "%u", kernel_ms);
  setenv("CRASHSHIELD_DEADLINE_MS", text, 1);
}

int cs_test_run_injected(uint32_t injection, uint32_t places, uint32_t thread_count, cs_test_patience patience,
                         const char *directory) {
  const int child = cs_test_fork();
  if (child != 0) return cs_test_wait(child);
  set_patience(patience.kernel_ms != 0 ? patience.kernel_ms : NEVER_MS);
  cs_test_start(directory);
  cs_testing_inject(injection, places);
  cs_testing_watch(thread_count, patience.reminder_ms, patience.deadline_ms);
  cs_test_crash_on_threads(thread_count);
  _exit(92);
}

// A handler that the shield calls after it has written the record. Checks that its context has the registers of the
// record.
static void check_context(int signal_number, siginfo_t *information, void *context) {
  const cs_ring *ring = cs_testing_ring();
  const ucontext_t *there = context;
  const uint64_t *recorded = ring->slots[0].record.registers.general;
  if (cs_test_stack_pointer(there) != recorded[CS_REGISTER_STACK_POINTER]) _exit(1);
  if (cs_test_pc(there) != recorded[CS_REGISTER_PC]) _exit(2);
  if (signal_number == SIGSEGV && (uintptr_t)information->si_addr != NOWHERE) _exit(3);
  if (signal_number == SIGABRT && information->si_code != SI_TKILL) _exit(4);
  if (sigismember(&there->uc_sigmask, SIGTERM) != 1 || sigismember(&there->uc_sigmask, SIGHUP) != 0) _exit(5);
  _exit(0);
}

static void start_stuck(const char *directory) {
  sigset_t some;
  sigemptyset(&some);
  sigaddset(&some, SIGTERM);
  sigprocmask(SIG_BLOCK, &some, NULL);
  const struct sigaction action = {.sa_sigaction = check_context, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
  sigaction(SIGABRT, &action, NULL);
  set_patience(NEVER_MS);
  cs_test_start(directory);
  cs_testing_inject(CS_INJECT_SLEEP, CS_INJECT_STACK);
  cs_testing_watch(1, AT_ONCE_MS, NEVER_MS);
}

static struct sigaction former;

static void chain(int signal_number, siginfo_t *information, void *context) {
  former.sa_sigaction(signal_number, information, context);
}

// Lets the held thread continue when the watchdog has committed the thread's record.
static void *let_go_late(void *unused) {
  const cs_ring *ring = cs_testing_ring();
  const struct timespec nap = {.tv_nsec = 1000000};
  while ((cs_ring_slot_state_acquire(&ring->slots[0]) & CS_RING_STATE_MASK) != CS_RING_STATE_COMMITTED)
    nanosleep(&nap, NULL);
  if (!cs_testing_let_go()) _exit(79);
  return unused;
}

static void hold(void) {
  pthread_t thread;
  cs_testing_inject(CS_INJECT_HELD, CS_INJECT_STACK);
  pthread_create(&thread, NULL, let_go_late, NULL);
}

static int is_stuck(cs_test_stuck_way way, const char *directory) {
  const struct sigaction later = {.sa_sigaction = chain, .sa_flags = SA_SIGINFO};
  const struct rlimit none = {0, 0};
  start_stuck(directory);
  if (way == CS_TEST_STUCK_WITHOUT_DETAILS && setrlimit(RLIMIT_SIGPENDING, &none) != 0) return 80;
  if (way == CS_TEST_STUCK_BLOCKED && sigaction(SIGSEGV, &later, &former) != 0) return 81;
  if (way == CS_TEST_STUCK_HELD) hold();
  if (way == CS_TEST_STUCK_CHAINED_ABORT) abort();
  *nowhere = 1;
  return 82;
}

// Returns 0 if the child ended by SIGSEGV.
static int ended_by_fault(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) != child) {
  }
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV ? 0 : 83;
}

static void get_stuck(const char *directory) {
  cs_test_start(directory);
  cs_testing_inject(CS_INJECT_SLEEP, CS_INJECT_STACK);
  cs_testing_watch(1, AT_ONCE_MS, NEVER_MS);
  *nowhere = 1;
}

static int stuck_child(const char *directory) {
  set_patience(NEVER_MS);
  cs_test_start(directory);
  const pid_t child = fork();
  if (child == 0) {
    get_stuck(directory);
    _exit(84);
  }
  return ended_by_fault(child);
}

static bool make_namespace(void) {
  return unshare(CLONE_NEWPID) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWPID) == 0;
}

bool cs_test_can_unshare(void) {
  const int child = cs_test_fork();
  if (child == 0) _exit(make_namespace() ? 0 : 1);
  return cs_test_wait(child) == 0;
}

static int stuck_first_process(const char *directory) {
  if (!make_namespace()) return 85;
  set_patience(NEVER_MS);
  const pid_t child = fork();
  if (child == 0) {
    if (getpid() != FIRST_PROCESS) _exit(86);
    get_stuck(directory);
    _exit(87);
  }
  return ended_by_fault(child);
}

// Returns when the watchdog has slept `rounds` times.
static void wait_for_watcher(uint32_t rounds) {
  const struct timespec nap = {.tv_nsec = 1000000};
  while (cs_testing_watcher_rounds() < rounds)
    nanosleep(&nap, NULL);
}

static void repair_late(int signal_number, siginfo_t *information, void *context) {
  (void)signal_number;
  (void)context;
  const uintptr_t page = (uintptr_t)information->si_addr & ~(uintptr_t)4095;
  wait_for_watcher(2); // one sleep after the start, and one after the crash
  mprotect((void *)page, 4096, PROT_READ | PROT_WRITE);
}

static int outlived_by_handler(const char *directory) {
  const struct sigaction action = {.sa_sigaction = repair_late, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
  cs_test_start(directory);
  wait_for_watcher(1);
  cs_testing_watch(0, AT_ONCE_MS, 1000);
  volatile uint8_t *bytes = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  bytes[0] = 1;
  return bytes[0] == 1 && cs_testing_watcher_rounds() >= 2 ? 0 : 88;
}

static int forked_inside(const char *directory) {
  const siginfo_t information = {.si_signo = SIGSEGV};
  set_patience(NEVER_MS);
  cs_test_start(directory);
  cs_watch_enter(&information);
  const pid_t child = _Fork();
  if (child == 0) {
    const uint32_t rounds = cs_testing_watcher_rounds(); // the count inherited from the parent
    set_patience(100);
    cs_test_start(directory);
    wait_for_watcher(rounds + 1);
    _exit(CHILD_IS_WELL);
  }
  int status = 0;
  while (waitpid(child, &status, 0) != child) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == CHILD_IS_WELL ? 0 : 89;
}

static int profiler_blocked(const char *directory) {
  sigset_t profiler;
  sigemptyset(&profiler);
  sigaddset(&profiler, SIGPROF);
  sigprocmask(SIG_BLOCK, &profiler, NULL);
  cs_test_start(directory);
  if (kill(getpid(), SIGPROF) != 0) return 90;
  int found = 0;
  return sigwait(&profiler, &found) == 0 && found == SIGPROF ? 0 : 91;
}

static void do_nothing(int signal_number) {
  (void)signal_number;
}

static int interrupted_nap(void) {
  const struct itimerval each_ms = {.it_interval = {.tv_usec = 1000}, .it_value = {.tv_usec = 1000}};
  struct timespec from;
  struct timespec to;
  signal(SIGALRM, do_nothing);
  setitimer(ITIMER_REAL, &each_ms, NULL);
  clock_gettime(CLOCK_MONOTONIC, &from);
  cs_sleep_whole_ns(NAP_NS, NAP_TRIES);
  clock_gettime(CLOCK_MONOTONIC, &to);
  const int64_t passed_ns = (to.tv_sec - from.tv_sec) * INT64_C(1000000000) + to.tv_nsec - from.tv_nsec;
  return passed_ns >= NAP_NS ? 0 : 1;
}

static int run_stuck(cs_test_stuck_way way, const char *directory) {
  switch (way) {
  case CS_TEST_STUCK_CHAINED:
  case CS_TEST_STUCK_CHAINED_ABORT:
  case CS_TEST_STUCK_WITHOUT_DETAILS:
  case CS_TEST_STUCK_BLOCKED:
  case CS_TEST_STUCK_HELD:
    return is_stuck(way, directory);
  case CS_TEST_STUCK_CHILD:
    return stuck_child(directory);
  case CS_TEST_STUCK_FIRST_PROCESS:
    return stuck_first_process(directory);
  case CS_TEST_OUTLIVED_BY_HANDLER:
    return outlived_by_handler(directory);
  case CS_TEST_FORKED_INSIDE:
    return forked_inside(directory);
  case CS_TEST_PROFILER_BLOCKED:
    return profiler_blocked(directory);
  case CS_TEST_INTERRUPTED_NAP:
    return interrupted_nap();
  }
}

int cs_test_run_stuck(cs_test_stuck_way way, const char *directory) {
  const int child = cs_test_fork();
  if (child == 0) _exit(run_stuck(way, directory));
  return cs_test_wait(child);
}
