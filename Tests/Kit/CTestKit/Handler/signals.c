// Signal handlers that are installed before and after the start.
#include "ways.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>

#include "../../../../CShim/Handler/Signal/Dispatch/state.h"
#include "cs_shim.h"
#include "cs_testing.h"

static void do_nothing(int signal) {
  (void)signal;
}

static int handlers_replaced(const char *directory) {
  cs_shim_replaced_handler found[CS_SHIM_HANDLER_LIMIT];
  if (cs_shim_replaced_handlers(found) != 0) return 1;
  cs_test_start(directory);
  if (cs_shim_replaced_handlers(found) != 0) return 2;
  signal(SIGSEGV, do_nothing);
  signal(SIGFPE, SIG_DFL);
  signal(SIGTRAP, SIG_IGN);
  if (cs_shim_replaced_handlers(found) != 3) return 3;
  if (found[0].signal != SIGSEGV || found[0].action != CS_SHIM_ACTION_HANDLER) return 4;
  if (found[0].address != (uint64_t)(uintptr_t)do_nothing) return 5;
  if (found[1].signal != SIGTRAP || found[1].action != CS_SHIM_ACTION_IGNORED || found[1].address != 0) return 6;
  if (found[2].signal != SIGFPE || found[2].action != CS_SHIM_ACTION_DEFAULT) return 7;
  const cs_ring *ring = cs_testing_ring();
  const cs_ring_handler *entry = &ring->header.handlers[0];
  if (entry->signal != SIGSEGV || entry->state != CS_RING_HANDLER_REPLACED) return 8;
  // Once its handler is installed again, the shield no longer reports the handler of SIGSEGV as replaced.
  cs_sigaction(SIGSEGV, &cs_process.own, NULL);
  return cs_shim_replaced_handlers(found) == 2 && entry->state == CS_RING_HANDLER_OURS ? 0 : 9;
}

static int handler_given_back(const char *directory) {
  cs_shim_replaced_handler found[CS_SHIM_HANDLER_LIMIT];
  signal(SIGTRAP, do_nothing);
  cs_test_start(directory);
  raise(SIGTRAP);
  struct sigaction present;
  sigaction(SIGTRAP, NULL, &present);
  return present.sa_handler == do_nothing && cs_shim_replaced_handlers(found) == 0 ? 0 : 1;
}

static struct sigaction before_reset;
static sigjmp_buf after_crash;
static sem_t may_open;
static sem_t has_opened;
static int opened;

static void pass_on_and_jump(int signal, siginfo_t *information, void *context) {
  before_reset.sa_sigaction(signal, information, context);
  siglongjmp(after_crash, 1);
}

static void *open_later(void *unused) {
  while (sem_wait(&may_open) != 0) {
  }
  opened = open("/dev/null", O_RDONLY | O_CLOEXEC);
  sem_post(&has_opened);
  return unused;
}

// The program's handler has SA_RESETHAND, so the signal has the default action while this handler runs.
static int handler_reset(const char *directory) {
  const struct sigaction once = {.sa_sigaction = pass_on_and_jump, .sa_flags = SA_SIGINFO | (int)SA_RESETHAND};
  pthread_t thread;
  sem_init(&may_open, 0, 0);
  sem_init(&has_opened, 0, 0);
  cs_test_start(directory);
  sigaction(SIGSEGV, &once, &before_reset);
  if (pthread_create(&thread, NULL, open_later, NULL) != 0) return 1;
  if (sigsetjmp(after_crash, 1) == 0) *(volatile int *)(uintptr_t)16 = 1;
  sem_post(&may_open);
  while (sem_wait(&has_opened) != 0) {
  }
  // The handler must not close the descriptor that the program opened.
  return fcntl(opened, F_GETFD) >= 0 ? 0 : 2;
}

static bool is_crash_signal(int number) {
  static const int crash_signals[CS_CRASH_SIGNAL_COUNT] = CS_CRASH_SIGNALS;
  for (int index = 0; index < CS_CRASH_SIGNAL_COUNT; index++) {
    if (crash_signals[index] == number) return true;
  }
  return false;
}

static int other_signals(const char *directory) {
  static cs_kernel_action before[CS_SIGNAL_COUNT];
  sigset_t mask_before;
  sigset_t mask_after;
  // Clear both masks: the system call writes only the kernel's part of a sigset_t, but the test compares all bytes.
  memset(&mask_before, 0, sizeof mask_before);
  memset(&mask_after, 0, sizeof mask_after);
  signal(SIGCHLD, do_nothing);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGPROF, do_nothing);
  for (int number = 1; number < CS_SIGNAL_COUNT; number++)
    cs_sigaction(number, NULL, &before[number]);
  sigprocmask(SIG_SETMASK, NULL, &mask_before);
  cs_test_start(directory);
  sigprocmask(SIG_SETMASK, NULL, &mask_after);
  if (memcmp(&mask_before, &mask_after, sizeof mask_before) != 0) return 1;
  for (int number = 1; number < CS_SIGNAL_COUNT; number++) {
    cs_kernel_action after = {0};
    if (is_crash_signal(number) || cs_sigaction(number, NULL, &after) != 0) continue;
    if (memcmp(&before[number], &after, sizeof after) != 0) return 100 + number;
  }
  return 0;
}

int cs_test_signals_run(cs_test_way way, const char *directory) {
  if (way == CS_TEST_HANDLERS_REPLACED) return handlers_replaced(directory);
  if (way == CS_TEST_HANDLER_GIVEN_BACK) return handler_given_back(directory);
  if (way == CS_TEST_HANDLER_RESET) return handler_reset(directory);
  if (way == CS_TEST_OTHER_SIGNALS) return other_signals(directory);
  return -1;
}
