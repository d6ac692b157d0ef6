// Unusual programs that contain the C code of the shield.
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "../../../../CShim/Handler/Setup/setup.h"
#include "cs_attach.h"
#include "cs_shim.h"
#include "cs_testing.h"
#include "instructions.h"
#include "ways.h"

// Reads only the first image, because dl_iterate_phdr reports the executable first.
static int note_thread_locals(struct dl_phdr_info *info, size_t size, void *context) {
  (void)size;
  size_t *bytes = context;
  for (int index = 0; index < info->dlpi_phnum; index++) {
    if (info->dlpi_phdr[index].p_type == PT_TLS) *bytes = info->dlpi_phdr[index].p_memsz;
  }
  return 1;
}

size_t cs_test_thread_local_bytes(void) {
  size_t bytes = 0;
  dl_iterate_phdr(note_thread_locals, &bytes);
  return bytes;
}

void cs_test_limit_file_size(void) {
  const struct rlimit limit = {1024, RLIM_INFINITY};
  setrlimit(RLIMIT_FSIZE, &limit);
}

static int starts_limited(void) {
  cs_shim_failure failure = {0};
  cs_test_limit_file_size();
  const cs_shim_error error = cs_shim_start(NULL, &failure);
  return error == CS_SHIM_SYSTEM_CALL && failure.errno_value == EFBIG ? 0 : 1;
}

static sem_t told[2];

static void note_each_status(void *context, cs_shim_status status, const char *text) {
  (void)context;
  (void)text;
  if (status <= CS_SHIM_STATUS_UNREACHABLE) sem_post(&told[status]);
}

static void wait_for_status(cs_shim_status status) {
  while (sem_wait(&told[status]) != 0) {
  }
}

static int reuses_connection(const char *directory) {
  char path[256];
  snprintf(path, sizeof path, "%s/attach", directory);
  const int listener = cs_test_listen(directory);
  const cs_shim_configuration configuration = {.socket_path = path, .status_function = note_each_status};
  sem_init(&told[0], 0, 0);
  sem_init(&told[1], 0, 0);
  if (cs_shim_start(&configuration, NULL) != CS_SHIM_OK) return 1;
  const int daemon = accept(listener, NULL, NULL);
  unlink(path);
  const cs_attach_reply reply = {.magic = CS_ATTACH_MAGIC, .version = CS_ATTACH_VERSION};
  if (send(daemon, &reply, sizeof reply, MSG_NOSIGNAL) < 0) return 2;
  wait_for_status(CS_SHIM_STATUS_ATTACHED);

  int pair[2];
  const int number = cs_connection_now.number;
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0 || dup2(pair[0], number) != number) return 3;
  if (write(pair[1], "request", 7) != 7 || close(daemon) != 0) return 4;
  wait_for_status(CS_SHIM_STATUS_UNREACHABLE);
  char text[16];
  return recv(number, text, sizeof text, MSG_DONTWAIT) == 7 ? 0 : 5;
}

static void retry_without_descriptors(const char *directory) {
  cs_test_start(directory);
  cs_test_use_up_descriptors();
  cs_attach_client_connect(); // otherwise only the shield's idle thread calls this
  cs_test_use_up_descriptors();
}

static _Atomic int reader_tid;
static _Atomic bool has_read;

static void *read_pipe(void *descriptors) {
  char byte = 0;
  reader_tid = gettid();
  const ssize_t count = read(*(int *)descriptors, &byte, sizeof byte);
  has_read = true;
  return (void *)(intptr_t)count;
}

static void read_task_file(int tid, const char *name, char *ret_text, size_t size) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/%s", tid, name);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t count = read(file, ret_text, size - 1);
  ret_text[count > 0 ? count : 0] = 0;
  close(file);
}

// Returns whether the thread sleeps in read(2) and has no pending signal.
static bool is_reading(int tid) {
  char text[4096];
  read_task_file(tid, "status", text, sizeof text);
  const char *pending = strstr(text, "SigPnd:");
  if (pending == NULL || strtoull(pending + strlen("SigPnd:"), NULL, 16) != 0) return false;
  read_task_file(tid, "syscall", text, sizeof text);
  return strncmp(text, "0 ", 2) == 0;
}

static void return_at_once(int signal) {
  (void)signal;
}

static int reads_on(const char *directory, void (*handler)(int)) {
  signal(SIGTRAP, handler); // glibc's signal() sets SA_RESTART
  cs_test_start(directory);
  int descriptors[2];
  pthread_t thread;
  if (pipe(descriptors) != 0 || pthread_create(&thread, NULL, read_pipe, descriptors) != 0) return 1;
  while (reader_tid == 0 || !is_reading(reader_tid))
    sched_yield();
  pthread_kill(thread, SIGTRAP);
  while (!has_read && !is_reading(reader_tid))
    sched_yield();
  if (write(descriptors[1], "x", 1) != 1) return 2;
  void *count = NULL;
  pthread_join(thread, &count);
  return (intptr_t)count == 1 ? 0 : 3;
}

static void (*former)(int);

// Passes only the signal number to the former handler. Its other two argument registers can have any value; in this
// test, they have the value 1.
static void chain(int signal) {
  ((void (*)(int, uintptr_t, uintptr_t))(void *)former)(signal, 1, 1);
}

static void crash_chained(const char *directory, int signal_number) {
  cs_test_start(directory);
  former = signal(signal_number, chain);
  if (signal_number == SIGABRT) abort();
  cs_test_undefined_instruction();
}

static int pause_with_signals(void) {
  const uint64_t duration_ns = 20 * 1000 * 1000;
  const struct itimerval each_ms = {.it_interval = {.tv_usec = 1000}, .it_value = {.tv_usec = 1000}};
  struct timespec from;
  struct timespec to;
  signal(SIGALRM, return_at_once);
  setitimer(ITIMER_REAL, &each_ms, NULL);
  clock_gettime(CLOCK_MONOTONIC, &from);
  cs_attach_client_pause(duration_ns);
  clock_gettime(CLOCK_MONOTONIC, &to);
  const int64_t passed_ns = (to.tv_sec - from.tv_sec) * INT64_C(1000000000) + to.tv_nsec - from.tv_nsec;
  return passed_ns >= (int64_t)duration_ns ? 0 : 1;
}

int cs_test_host_way_run(cs_test_way way, const char *directory) {
  if (way == CS_TEST_INTERRUPTED_PAUSE) return pause_with_signals();
  if (way == CS_TEST_REPLACED_LIBRARY) return cs_test_replace_library(directory);
  if (way == CS_TEST_CHAINED_ABORT) crash_chained(directory, SIGABRT);
  if (way == CS_TEST_CHAINED_FAULT) crash_chained(directory, SIGILL);
  if (way == CS_TEST_IGNORED_WHILE_READING) return reads_on(directory, SIG_IGN);
  if (way == CS_TEST_HANDLED_WHILE_READING) return reads_on(directory, return_at_once);
  if (way == CS_TEST_RETRIED_WITHOUT_DESCRIPTORS) {
    retry_without_descriptors(directory);
    cs_test_undefined_instruction();
  }
  if (way == CS_TEST_REUSED_CONNECTION) return reuses_connection(directory);
  if (way == CS_TEST_STARTS_LIMITED) return starts_limited();
  return -1;
}
