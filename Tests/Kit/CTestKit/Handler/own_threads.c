// Programs that must not notice the shield's own threads and descriptors. Each function returns 0 on success, or else a
// number that identifies the failed check.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../../CShim/Handler/Setup/Ring/caller.h"
#include "cs_shim.h"
#include "cs_testing.h"
#include "ways.h"

#define OTHER_ID 65534
// The number of the program's data files that are open while it crashes.
#define DATA_FILES 10
#define DATA       "a line of the program's own data\n"

typedef struct waiter {
  int signal;
  cs_test_wait_call call;
  int received;
} waiter;

static void *wait_for_signal(void *context) {
  waiter *self = context;
  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, self->signal);
  if (self->call == CS_TEST_SIGWAIT) sigwait(&wanted, &self->received);
  if (self->call == CS_TEST_SIGWAITINFO) self->received = sigwaitinfo(&wanted, NULL);
  if (self->call == CS_TEST_SIGNALFD) {
    struct signalfd_siginfo information = {0};
    const int descriptor = signalfd(-1, &wanted, SFD_CLOEXEC);
    if (read(descriptor, &information, sizeof information) == sizeof information)
      self->received = (int)information.ssi_signo;
    close(descriptor);
  }
  return NULL;
}

static int wait_in_child(int signal_number, cs_test_wait_call call, const char *directory) {
  pthread_t thread;
  waiter waiter = {.signal = signal_number, .call = call};
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, signal_number);
  cs_test_start(directory);
  pthread_sigmask(SIG_BLOCK, &blocked, NULL);
  if (pthread_create(&thread, NULL, wait_for_signal, &waiter) != 0) return 1;
  // All threads of the program block the signal, so it stays pending until the thread waits for it.
  kill(getpid(), signal_number);
  pthread_join(thread, NULL);
  return waiter.received == signal_number ? 0 : 2;
}

int cs_test_run_wait(int signal_number, cs_test_wait_call call, const char *directory) {
  const int child = cs_test_fork();
  if (child == 0) _exit(wait_in_child(signal_number, call, directory));
  return cs_test_wait(child);
}

// Reads the status of all other threads from /proc. Returns the number of these threads, and stores the crash signals
// that at least one of them does not block.
static int look_at_threads(uint64_t *ret_open) {
  static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGTRAP, SIGFPE, SIGSYS};
  int count = 0;
  DIR *const tasks = opendir("/proc/self/task");
  *ret_open = 0;
  for (const struct dirent *entry = readdir(tasks); entry != NULL; entry = readdir(tasks)) {
    char path[300];
    char text[4096] = {0};
    if (atoi(entry->d_name) == 0 || atoi(entry->d_name) == gettid()) continue;
    snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || read(file, text, sizeof text - 1) <= 0) _exit(70);
    close(file);
    const char *blocked = strstr(text, "SigBlk:");
    const uint64_t mask = blocked == NULL ? 0 : strtoull(blocked + strlen("SigBlk:"), NULL, 16);
    for (size_t index = 0; index < sizeof signals / sizeof signals[0]; index++) {
      const uint64_t bit = UINT64_C(1) << (signals[index] - 1);
      if ((mask & bit) == 0) *ret_open |= bit;
    }
    count++;
  }
  closedir(tasks);
  return count;
}

static int block_signals(void) {
  uint64_t open_signals = 0;
  cs_shim_status unused;
  const cs_shim_configuration configuration = {.socket_path = "/none/attach"};
  if (cs_shim_start(&configuration, NULL) != CS_SHIM_OK) return 90;
  // The shield's idle thread reports the status, so it has begun its work when there is one.
  while (!cs_shim_last_status(&unused, NULL))
    sched_yield();
  if (look_at_threads(&open_signals) < 2) return 1;
  return open_signals == 0 ? 0 : 2;
}

static sem_t is_in_callback;
static sem_t may_return;

static void stay_in_callback(void *context, cs_shim_status status, const char *text) {
  (void)context;
  (void)status;
  (void)text;
  sem_post(&is_in_callback);
  while (sem_wait(&may_return) != 0) {
  }
}

// Sends the signal while a callback of the program runs. During a callback, the callback thread does not block the
// signal, because the callback can crash.
static int wait_beside_callback(void) {
  pthread_t thread;
  waiter waiter = {.signal = SIGABRT, .call = CS_TEST_SIGWAIT};
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGABRT);
  sem_init(&is_in_callback, 0, 0);
  sem_init(&may_return, 0, 0);
  const cs_shim_configuration configuration = {.socket_path = "/none/attach", .status_function = stay_in_callback};
  if (cs_shim_start(&configuration, NULL) != CS_SHIM_OK) return 90;
  while (sem_wait(&is_in_callback) != 0) {
  }
  pthread_sigmask(SIG_BLOCK, &blocked, NULL);
  kill(getpid(), SIGABRT);
  if (pthread_create(&thread, NULL, wait_for_signal, &waiter) != 0) return 1;
  pthread_join(thread, NULL);
  sem_post(&may_return);
  return waiter.received == SIGABRT ? 0 : 2;
}

// Tests a signal that the kernel delivers to the callback thread, because no other thread has it unblocked. The
// callback thread passes the signal on to the program, and blocks it. Only then does the first thread unblock it.
static int die_beside_callback(const char *directory) {
  char spool[256];
  uint64_t open_signals = 0;
  const uint64_t only = UINT64_C(1) << (SIGABRT - 1);
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGABRT);
  sem_init(&is_in_callback, 0, 0);
  snprintf(spool, sizeof spool, "%s/spool", directory);
  const cs_shim_configuration configuration = {
      .socket_path = "/none/attach", .spool_directory = spool, .status_function = stay_in_callback};
  sem_init(&may_return, 0, 0);
  if (cs_shim_start(&configuration, NULL) != CS_SHIM_OK) return 90;
  while (sem_wait(&is_in_callback) != 0) {
  }
  pthread_sigmask(SIG_BLOCK, &blocked, NULL);
  look_at_threads(&open_signals);
  if ((open_signals & only) == 0) return 1;
  kill(getpid(), SIGABRT);
  do {
    sched_yield();
    look_at_threads(&open_signals);
  } while ((open_signals & only) != 0);
  pthread_sigmask(SIG_UNBLOCK, &blocked, NULL);
  for (;;)
    pause();
}

static void *stay_as_reaper(void *unused) {
  pthread_setname_np(pthread_self(), "crashshield-q");
  sem_post(&is_in_callback);
  while (sem_wait(&may_return) != 0) {
  }
  return unused;
}

// Tests the quarantine's thread, which never blocks the crash signals.
static int wait_beside_reaper(const char *directory) {
  pthread_t threads[2];
  waiter waiter = {.signal = SIGABRT, .call = CS_TEST_SIGWAITINFO};
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGABRT);
  sem_init(&is_in_callback, 0, 0);
  sem_init(&may_return, 0, 0);
  cs_test_start(directory);
  if (pthread_create(&threads[0], NULL, stay_as_reaper, NULL) != 0) return 1;
  while (sem_wait(&is_in_callback) != 0) {
  }
  pthread_sigmask(SIG_BLOCK, &blocked, NULL);
  kill(getpid(), SIGABRT);
  if (pthread_create(&threads[1], NULL, wait_for_signal, &waiter) != 0) return 2;
  pthread_join(threads[1], NULL);
  sem_post(&may_return);
  pthread_join(threads[0], NULL);
  return waiter.received == SIGABRT ? 0 : 3;
}

static void stay_in_delivery(void) {
  stay_in_callback(NULL, CS_SHIM_STATUS_ATTACHED, "");
}

// Tests the thread of Shield.incidents, which unblocks the crash signals only while it calls a reader.
static int wait_beside_incidents(const char *directory) {
  pthread_t thread;
  uint64_t open_signals = 0;
  const cs_ring_incident incident = {.source = CS_RING_INCIDENT_GUARD, .kind = 1};
  waiter waiter = {.signal = SIGABRT, .call = CS_TEST_SIGWAITINFO};
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGABRT);
  sem_init(&is_in_callback, 0, 0);
  sem_init(&may_return, 0, 0);
  cs_test_start(directory);
  if (!cs_shim_incidents_follow(stay_in_delivery)) return 1;
  // Waits until all threads of the shield block the signal, because the callback thread can still be in the callback
  // that reports the status.
  do {
    sched_yield();
    look_at_threads(&open_signals);
  } while (open_signals != 0);
  cs_shim_incident(&incident);
  while (sem_wait(&is_in_callback) != 0) {
  }
  pthread_sigmask(SIG_BLOCK, &blocked, NULL);
  kill(getpid(), SIGABRT);
  if (pthread_create(&thread, NULL, wait_for_signal, &waiter) != 0) return 2;
  pthread_join(thread, NULL);
  sem_post(&may_return);
  return waiter.received == SIGABRT ? 0 : 3;
}

// A callback that crashes. The crash must be recorded.
static void crash_in_callback(void *context, cs_shim_status status, const char *text) {
  (void)context;
  (void)status;
  *(volatile char *)(uintptr_t)(text[0] == 0 ? 16 : 8) = 1;
}

static int await_crash_of_callback(const char *directory) {
  char spool[256];
  snprintf(spool, sizeof spool, "%s/spool", directory);
  const cs_shim_configuration configuration = {
      .socket_path = "/none/attach", .spool_directory = spool, .status_function = crash_in_callback};
  if (cs_shim_start(&configuration, NULL) != CS_SHIM_OK) return 90;
  for (;;)
    pause();
}

// Copies the thread's permitted capabilities to its effective set.
static bool raise_capabilities(void) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct data[2];
  if (syscall(SYS_capget, &header, data) != 0) return false;
  for (int index = 0; index < 2; index++)
    data[index].effective = data[index].permitted;
  return syscall(SYS_capset, &header, data) == 0;
}

// Changes the user as setpriv(1) does: the first thread keeps its capabilities, and the other threads lose theirs.
static int drop_root(const char *directory) {
  uint64_t unused;
  cs_test_start(directory);
  const int threads = look_at_threads(&unused);
  if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0) return 1;
  if (setresgid(OTHER_ID, OTHER_ID, OTHER_ID) != 0 || setresuid(OTHER_ID, OTHER_ID, OTHER_ID) != 0) return 2;
  if (!raise_capabilities() || setgroups(0, NULL) != 0) return 3;
  if (getuid() != OTHER_ID || getgroups(0, NULL) != 0) return 4;
  return look_at_threads(&unused) == threads ? 0 : 5;
}

#define CHANGES 50

static char threads_failed;

static void *change_groups(void *unused) {
  bool has_changed = true;
  for (int change = 0; change < CHANGES; change++)
    has_changed = setgroups(0, NULL) == 0 && has_changed;
  return has_changed ? unused : &threads_failed;
}

static int drop_rights_at_once(const char *directory) {
  pthread_t threads[2];
  void *failure = NULL;
  cs_test_start(directory);
  if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0) return 1;
  if (setresgid(OTHER_ID, OTHER_ID, OTHER_ID) != 0 || setresuid(OTHER_ID, OTHER_ID, OTHER_ID) != 0) return 2;
  // The threads inherit the first thread's capabilities.
  if (!raise_capabilities()) return 3;
  for (int index = 0; index < 2; index++)
    if (pthread_create(&threads[index], NULL, change_groups, NULL) != 0) return 4;
  for (int index = 0; index < 2 && failure == NULL; index++)
    pthread_join(threads[index], &failure);
  return failure == NULL ? 0 : 5;
}

static int enter_namespace(const char *directory) {
  uint64_t unused;
  cs_test_start(directory);
  const int threads = look_at_threads(&unused);
  if (unshare(CLONE_NEWUSER) != 0) return 1;
  if (look_at_threads(&unused) != threads) return 2;
  // At this second call, the shield has started new threads. unshare() may fail with EPERM, because the user has no id
  // in the namespace, but it must not fail because of the shield's threads.
  return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 || errno == EPERM ? 0 : 3;
}

static int join_namespace(const char *directory) {
  int ends[2];
  char path[64];
  char byte = 0;
  if (pipe(ends) != 0) return 1;
  const pid_t other = fork();
  if (other == 0) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 || write(ends[1], "x", 1) != 1) _exit(1);
    for (;;)
      pause();
  }
  cs_test_start(directory);
  close(ends[1]);
  int status = read(ends[0], &byte, 1) == 1 ? 0 : 2;
  for (int index = 0; index < 2 && status == 0; index++) {
    snprintf(path, sizeof path, "/proc/%d/ns/%s", other, index == 0 ? "user" : "mnt");
    const int namespace = open(path, O_RDONLY | O_CLOEXEC);
    if (namespace < 0 || setns(namespace, index == 0 ? CLONE_NEWUSER : 0) != 0) status = 3 + index;
    close(namespace);
  }
  kill(other, SIGKILL);
  waitpid(other, NULL, 0);
  return status;
}

static int leave_low_numbers(const char *directory) {
  cs_test_start(directory);
  for (int number = 3; number < 100; number++) {
    if (fcntl(number, F_GETFD) >= 0) return number;
  }
  return 0;
}

static int count_threads(const char *name) {
  int count = 0;
  DIR *const tasks = opendir("/proc/self/task");
  for (const struct dirent *entry = readdir(tasks); entry != NULL; entry = readdir(tasks)) {
    char path[300];
    char text[32] = {0};
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0 && read(file, text, sizeof text - 1) > 0 && strncmp(text, name, strlen(name)) == 0) count++;
    close(file);
  }
  closedir(tasks);
  return count;
}

static void count_call(void *context, cs_shim_status status, const char *text) {
  (void)status;
  (void)text;
  __atomic_add_fetch((int *)context, 1, __ATOMIC_SEQ_CST);
}

// The first start fails before it creates the connection's thread. Therefore this thread reports the statuses.
static int retry_callbacks(void) {
  int counts[2] = {0};
  cs_shim_failure failure = {0};
  for (int attempt = 0; attempt < 2; attempt++) {
    const cs_callbacks callbacks = {.status = count_call, .context = &counts[attempt]};
    if (cs_caller_start(&callbacks, &failure) != CS_SHIM_OK) return 1 + attempt;
  }
  if (count_threads("crashshield-c") != 1) return 3;
  for (int call = 0; call < 1000; call++) {
    if (!cs_caller_report_status(CS_SHIM_STATUS_ATTACHED, "")) return 4;
  }
  return counts[0] == 0 && counts[1] == 1000 ? 0 : 5;
}

int cs_test_run_own(cs_test_own_way way, const char *directory) {
  const int child = cs_test_fork();
  if (child == 0) {
    if (way == CS_TEST_OWN_MASKS) _exit(block_signals());
    if (way == CS_TEST_OWN_CALLBACK) _exit(wait_beside_callback());
    if (way == CS_TEST_OWN_REAPER) _exit(wait_beside_reaper(directory));
    if (way == CS_TEST_OWN_INCIDENTS) _exit(wait_beside_incidents(directory));
    if (way == CS_TEST_OWN_PASSED_ON) _exit(die_beside_callback(directory));
    if (way == CS_TEST_OWN_CRASHED_CALLBACK) _exit(await_crash_of_callback(directory));
    if (way == CS_TEST_OWN_SETXID) _exit(drop_root(directory));
    if (way == CS_TEST_OWN_UNSHARE) _exit(enter_namespace(directory));
    if (way == CS_TEST_OWN_SETNS) _exit(join_namespace(directory));
    if (way == CS_TEST_OWN_NUMBERS) _exit(leave_low_numbers(directory));
    if (way == CS_TEST_OWN_RIGHTS) _exit(drop_rights_at_once(directory));
    if (way == CS_TEST_OWN_RETRIED) _exit(retry_callbacks());
    _exit(cs_test_reattach_run(way, directory));
  }
  return cs_test_wait(child);
}

// A thread that again and again closes descriptors that it does not own, and opens its own files, which get the freed
// numbers.
typedef struct closer {
  const char *directory;
  int first;
} closer;

static void *close_and_open(void *context) {
  const closer *self = context;
  for (uint32_t round = 0;; round++) {
    // Close low numbers most often, because new files get low numbers.
    const int end = round % 16 == 0 ? 1024 : 32;
    for (int number = self->first; number < end; number++)
      close(number);
    for (int index = 0; index < DATA_FILES; index++) {
      char path[300];
      snprintf(path, sizeof path, "%s/data%d", self->directory, index);
      (void)open(path, O_RDWR | O_CLOEXEC);
    }
  }
  return NULL;
}

static void crash_beside_closer(const char *directory, int first, bool handler_crashes) {
  static closer self;
  pthread_t thread;
  cs_test_start(directory);
  self = (closer){directory, first};
  if (handler_crashes) cs_testing_inject(CS_INJECT_CRASH, CS_INJECT_STACK);
  if (pthread_create(&thread, NULL, close_and_open, &self) != 0) _exit(1);
  const struct timespec moment = {.tv_nsec = (long)(getpid() % 7) * 100000};
  nanosleep(&moment, NULL);
  *(volatile int *)(uintptr_t)8 = 1;
}

// Returns the number of data files whose contents have changed.
static uint32_t count_hurt(const char *directory) {
  uint32_t count = 0;
  for (int index = 0; index < DATA_FILES; index++) {
    char path[300];
    char text[2 * sizeof DATA] = {0};
    snprintf(path, sizeof path, "%s/data%d", directory, index);
    FILE *file = fopen(path, "re");
    if (file == NULL || fread(text, 1, sizeof text - 1, file) != strlen(DATA) || strcmp(text, DATA) != 0) count++;
    if (file != NULL) fclose(file);
  }
  return count;
}

bool cs_test_run_raced(int first, bool handler_crashes, const char *directory, uint32_t *ret_hurt) {
  for (int index = 0; index < DATA_FILES; index++) {
    char path[300];
    snprintf(path, sizeof path, "%s/data%d", directory, index);
    FILE *file = fopen(path, "we");
    if (file == NULL) return false;
    fputs(DATA, file);
    fclose(file);
  }
  const int child = cs_test_fork();
  if (child == 0) {
    crash_beside_closer(directory, first, handler_crashes);
    _exit(2);
  }
  const int status = cs_test_wait(child);
  *ret_hurt = count_hurt(directory);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}
