#include "ways.h"
#include "instructions.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cs_ring.h"
#include "cs_shim.h"
#include "cs_testing.h"

#define PATIENCE_MS "60000"

// An unmapped address that the compiler cannot compute.
static volatile uint32_t *volatile nowhere = (volatile uint32_t *)8;
#if defined(__x86_64__)
static volatile int zero = 0;
#endif

static sem_t attached;

static void note_status(void *context, cs_shim_status status, const char *text) {
  (void)context;
  (void)text;
  if (status == CS_SHIM_STATUS_ATTACHED) sem_post(&attached);
}

void cs_test_start(const char *directory) {
  char socket_path[256];
  char spool[256];
  snprintf(socket_path, sizeof socket_path, "%s/attach", directory);
  snprintf(spool, sizeof spool, "%s/spool", directory);
  sem_init(&attached, 0, 0);
  // On a busy machine, a handler can be slow although it does not hang. Tests of hanging handlers set their own
  // deadline.
  setenv("CRASHSHIELD_DEADLINE_MS", PATIENCE_MS, 0);
  const cs_shim_configuration configuration = {
      .socket_path = socket_path, .spool_directory = spool, .name = "shim-tests", .status_function = note_status};
  cs_shim_failure failure = {0};
  if (cs_shim_start(&configuration, &failure) != CS_SHIM_OK) _exit(90);
}

__attribute__((noinline)) uint32_t cs_test_recurse(uint32_t depth) {
  volatile uint32_t here[16];
  here[0] = depth;
  if (depth == UINT32_MAX) return 0;
  const uint32_t below = cs_test_recurse(depth + 1);
  return here[0] + below;
}

__attribute__((noinline, no_sanitize("address"))) static void smash_stack(void) {
  volatile uint64_t small[2];
  // Overwrites the saved registers and return addresses of this function and its callers.
  for (int index = 0; index < 64; index++)
    ((volatile uint64_t *)small)[index] = UINT64_C(0x4141414141414141);
  *nowhere = 1;
}

static void fault(int signal) {
  switch (signal) {
  case SIGSEGV:
    *nowhere = 1;
    break;
  case SIGILL:
    cs_test_undefined_instruction();
    break;
  case SIGTRAP:
    cs_test_breakpoint();
    break;
#if defined(__x86_64__)
  case SIGFPE: // AArch64 has no divide error
    __asm__ volatile("cltd; idivl %1" : : "a"(1), "r"(zero) : "edx");
    break;
#endif
  default:
    raise(signal);
  }
}

static pthread_barrier_t barrier;

static void *crash_at_barrier(void *unused) {
  pthread_barrier_wait(&barrier);
  *nowhere = 1;
  return unused;
}

void cs_test_crash_on_threads(uint32_t count) {
  pthread_barrier_init(&barrier, NULL, count);
  pthread_t thread;
  for (uint32_t index = 1; index < count; index++)
    pthread_create(&thread, NULL, crash_at_barrier, NULL);
  crash_at_barrier(NULL);
}

static int stay_in_callback(struct dl_phdr_info *info, size_t size, void *context) {
  (void)info;
  (void)size;
  (void)context;
  pthread_barrier_wait(&barrier);
  for (;;)
    pause();
}

static void *hold_loader_lock(void *unused) {
  dl_iterate_phdr(stay_in_callback, NULL);
  return unused;
}

static void crash_with_loader_lock_held(void) {
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_t thread;
  pthread_create(&thread, NULL, hold_loader_lock, NULL);
  pthread_barrier_wait(&barrier);
  *nowhere = 1;
}

void cs_test_use_up_descriptors(void) {
  // Lowers the limit, but not below the descriptors that this process has already open: closing a descriptor above the
  // limit would not free a number below it.
  const struct rlimit limit = {1024, 1024};
  setrlimit(RLIMIT_NOFILE, &limit);
  while (open("/dev/null", O_RDONLY) >= 0) {
  }
}

static void *steal_one(void *ready) {
  pthread_barrier_wait(ready);
  int file = -1;
  while (file < 0)
    file = open("/dev/null", O_RDONLY);
  const struct timespec while_held = {.tv_nsec = 30000000};
  nanosleep(&while_held, NULL);
  close(file);
  return NULL;
}

void cs_test_steal_descriptors(void) {
  static pthread_barrier_t ready;
  pthread_t thread;
  cs_test_use_up_descriptors();
  pthread_barrier_init(&ready, NULL, 2);
  if (pthread_create(&thread, NULL, steal_one, &ready) != 0) _exit(94);
  pthread_barrier_wait(&ready);
}

// Acts like a daemon that closes all descriptors at its start. Its next files then get the numbers of the shield's
// descriptors.
static void close_and_reuse_descriptors(const char *directory) {
  char path[256];
  syscall(SYS_close_range, 3, ~0U, 0);
  for (int index = 0; index < 8; index++) {
    snprintf(path, sizeof path, "%s/own%d", directory, index);
    open(path, O_RDWR | O_CREAT, 0600);
  }
}

static volatile int previous_calls;

static void count_call(int signal) {
  (void)signal;
  previous_calls = previous_calls + 1;
  errno = ERANGE; // behaves like a handler that changes errno; the test reads errno afterwards
}

static void handler_that_keeps_errno(int signal, siginfo_t *information, void *context) {
  const int saved = errno;
  (void)information;
  count_call(signal);
  cs_test_skip_breakpoint(context);
  errno = saved;
}

static int previous_returns(const char *directory) {
  const struct sigaction action = {.sa_sigaction = handler_that_keeps_errno, .sa_flags = SA_SIGINFO};
  sigaction(SIGTRAP, &action, NULL);
  cs_test_start(directory);
  errno = EXDEV;
  cs_test_breakpoint();
  return errno == EXDEV && previous_calls == 1 ? 0 : 1;
}

static int is_ignored(const char *directory) {
  signal(SIGTRAP, SIG_IGN);
  cs_test_start(directory);
  raise(SIGTRAP);
  const cs_ring *ring = cs_testing_ring();
  return ring->header.slot_head == 0 ? 0 : 1;
}

static bool ended_by(pid_t child, int signal) {
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == signal;
}

static int child_crashes(const char *directory, bool starts_anew) {
  cs_test_start(directory);
  const cs_ring *ring = cs_testing_ring();
  const pid_t child = fork();
  if (child == 0) {
    if (cs_shim_is_started() || cs_shim_annotate("key", 3, "value", 5)) _exit(1);
    if (starts_anew) cs_test_start(directory);
    *nowhere = 1;
  }
  const bool was_left_alone = ended_by(child, SIGSEGV) && ring->header.slot_head == 0;
  return was_left_alone && cs_shim_is_started() ? 0 : 1;
}

static int vfork_child_crashes(const char *directory) {
  cs_test_start(directory);
  const cs_ring *ring = cs_testing_ring();
  const pid_t child = vfork();
  if (child == 0) {
    *nowhere = 1;
    _exit(1);
  }
  return ended_by(child, SIGSEGV) && ring->header.slot_head == 0 && cs_shim_is_started() ? 0 : 1;
}

static void write_over_counts(void) {
  // Simulates a wild write by the program, which has the ring in its memory.
  cs_ring *ring = (cs_ring *)(uintptr_t)cs_testing_ring();
  ring->header.image_count = UINT32_MAX;
  ring->header.class_count = UINT32_MAX;
  ring->header.thread_count = UINT32_MAX;
  ring->header.breadcrumb_head = UINT64_MAX;
  // abort() ends the program by SIGABRT. If the shield's handler used the wrong counts, it would fault, and the program
  // would end by another signal.
  abort();
}

int cs_test_way_run(cs_test_way way, const char *directory) {
  static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGTRAP, SIGFPE, SIGSYS};
  if (way >= CS_TEST_SWEEP_IDLE) return cs_test_sweep_run(way, directory);
  if (way >= CS_TEST_THREAD_OVERFLOW) return cs_test_threads_run(way, directory);
  if (way == CS_TEST_PREVIOUS_RETURNS) return previous_returns(directory);
  if (way == CS_TEST_IGNORED) return is_ignored(directory);
  if (way == CS_TEST_FORKED_CHILD) return child_crashes(directory, false);
  if (way == CS_TEST_CHILD_STARTS) return child_crashes(directory, true);
  if (way == CS_TEST_VFORKED_CHILD) return vfork_child_crashes(directory);
  int status = cs_test_host_way_run(way, directory);
  if (status < 0) status = cs_test_signals_run(way, directory);
  if (status < 0) status = cs_test_forks_run(way, directory);
  if (status >= 0) return status;

  // On a busy machine, the threads can run late.
  if (way == CS_TEST_EIGHT_THREADS || way == CS_TEST_ALL_THREADS) setenv("CRASHSHIELD_SWEEP_MS", "800", 1);
  cs_test_start(directory);
  if (way == CS_TEST_ABRT) abort();
  if (way <= CS_TEST_SYS) fault(signals[way]);
  if (way == CS_TEST_ONCE_ATTACHED || way == CS_TEST_ATTACHED_CLOSED) {
    while (sem_wait(&attached) != 0) {
    }
  }
  if (way == CS_TEST_ATTACHED_CLOSED) syscall(SYS_close_range, 3, ~0U, 0);
  if (way == CS_TEST_SENT) kill(getpid(), SIGSEGV);
  if (way == CS_TEST_STACK_OVERFLOW) cs_test_recurse(0);
  if (way == CS_TEST_BAD_CALL) ((void (*)(void))(uintptr_t)nowhere)();
  if (way == CS_TEST_CALL_OF_DATA) ((void (*)(void))(uintptr_t)&nowhere)();
  if (way == CS_TEST_SMASHED_STACK) smash_stack();
  if (way == CS_TEST_IN_HANDLER) cs_testing_inject(CS_INJECT_CRASH, CS_INJECT_REGISTERS);
  if (way == CS_TEST_EIGHT_THREADS) cs_test_crash_on_threads(8);
  if (way == CS_TEST_ALL_THREADS) cs_test_crash_on_threads(CS_RING_SLOT_LIMIT);
  if (way == CS_TEST_NO_DESCRIPTORS) cs_test_use_up_descriptors();
  if (way == CS_TEST_STOLEN_DESCRIPTOR) cs_test_steal_descriptors();
  if (way == CS_TEST_ABANDONED_SLOT && !cs_testing_claim_and_abandon()) return 1;
  if (way == CS_TEST_WILD_COUNTS) write_over_counts();
  if (way == CS_TEST_CLOSED_DESCRIPTORS) close_and_reuse_descriptors(directory);
  if (way == CS_TEST_FILE_SIZE_LIMIT) cs_test_limit_file_size();
  if (way == CS_TEST_LOADER_LOCK) crash_with_loader_lock_held();
  *nowhere = 1;
  return 1;
}
