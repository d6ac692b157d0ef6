// Measures the cost of the shield in an idle program: wake-ups and system calls of its threads, and memory.
// scripts/measure/idle builds and runs this program: `idle alone|attached SECONDS` prints one line `name value …`, or
// exits with 1 if it cannot measure a value.
#include <dirent.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cs_shim.h"

#define THREAD_COUNT 100
// The capacity of the table of the shield's threads, which are fewer.
#define OWN_LIMIT 8
// Each thread of the shield must sleep this many seconds longer than the measurement takes.
#define MARGIN_S   0.3
#define FOR_EVER_S 1e9
// The seconds between two checks whether all threads of the shield sleep long enough, and the limit of the checks (five
// minutes in total).
#define LOOK_S     0.05
#define LOOK_LIMIT 6000

static int own_tids[OWN_LIMIT];
static int own_count;
static sem_t told;
static sem_t never;

__attribute__((noreturn)) static void fail(const char *why) {
  fprintf(stderr, "idle: %s\n", why);
  exit(1);
}

static double now_s(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void sleep_s(double duration_s) {
  const struct timespec time = {.tv_sec = (time_t)duration_s,
                                .tv_nsec = (long)((duration_s - (double)(time_t)duration_s) * 1e9)};
  nanosleep(&time, NULL);
}

// Returns the sum of the field `key` in /proc/self/smaps. The sum includes the mappings whose first line ends with
// `name`, or all mappings if `name` is NULL.
static uint64_t mapped_kib(const char *name, const char *key) {
  FILE *file = fopen("/proc/self/smaps", "re");
  char line[512];
  bool is_wanted = name == NULL;
  uint64_t sum = 0;
  if (file == NULL) fail("no smaps");
  while (fgets(line, sizeof line, file) != NULL) {
    // The first line of a mapping begins with its address; the lines of its fields begin with a capital letter.
    if (line[0] < 'A' || line[0] > 'Z') is_wanted = name == NULL || strstr(line, name) != NULL;
    if (is_wanted && strncmp(line, key, strlen(key)) == 0) sum += strtoull(line + strlen(key), NULL, 10);
  }
  fclose(file);
  return sum;
}

// Finds the threads of the shield: those of this process, except the calling thread.
static void find_own_threads(void) {
  DIR *entries = opendir("/proc/self/task");
  own_count = 0;
  if (entries == NULL) fail("no tasks");
  for (const struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
    const int tid = atoi(entry->d_name);
    if (tid == 0 || tid == gettid()) continue;
    if (own_count == OWN_LIMIT) fail("too many threads of the shield's");
    own_tids[own_count++] = tid;
  }
  closedir(entries);
}

static void read_task(int tid, const char *name, char *ret_text, size_t size) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/%s", tid, name);
  FILE *file = fopen(path, "re");
  if (file == NULL) fail("the shield's thread is gone");
  ret_text[fread(ret_text, 1, size - 1, file)] = 0;
  fclose(file);
}

static uint64_t switches_of(int tid) {
  char text[4096];
  read_task(tid, "status", text, sizeof text);
  const char *voluntary = strstr(text, "\nvoluntary_ctxt_switches:");
  const char *other = strstr(text, "\nnonvoluntary_ctxt_switches:");
  if (voluntary == NULL || other == NULL) fail("no count of context switches");
  return strtoull(strchr(voluntary, ':') + 1, NULL, 10) + strtoull(strchr(other, ':') + 1, NULL, 10);
}

// Returns the seconds for which the thread `tid` sleeps. The result is infinity in a system call without a timeout, the
// requested time in ppoll() with a timeout, and 0 in any other case.
static double pause_of(int tid) {
  char text[256];
  unsigned long arguments[4];
  int number = 0;
  read_task(tid, "syscall", text, sizeof text);
  const int count =
      sscanf(text, "%d %lx %lx %lx %lx", &number, &arguments[0], &arguments[1], &arguments[2], &arguments[3]);
  if (count != 5) return 0;
  if (number == SYS_futex && arguments[3] == 0) return FOR_EVER_S;
  if (number == SYS_ppoll && arguments[2] == 0) return FOR_EVER_S;
  if (number != SYS_ppoll) return 0;
  const struct timespec *request = (const struct timespec *)arguments[2];
  return (double)request->tv_sec + (double)request->tv_nsec / 1e9;
}

// The state of all threads of the shield at one time.
typedef struct snapshot {
  double pause_s; // the shortest pause of a thread
  uint64_t switches;
  char calls[OWN_LIMIT][256];
} snapshot;

static snapshot look(void) {
  snapshot now = {.pause_s = FOR_EVER_S};
  for (int index = 0; index < own_count; index++) {
    const double pause_s = pause_of(own_tids[index]);
    if (pause_s < now.pause_s) now.pause_s = pause_s;
    now.switches += switches_of(own_tids[index]);
    read_task(own_tids[index], "syscall", now.calls[index], sizeof now.calls[index]);
  }
  return now;
}

typedef struct measurement {
  uint64_t switches;
  bool is_same_call; // no thread has changed its system call during the measurement
} measurement;

// Waits until the sleep of each thread of the shield is longer than the measurement, and then measures. A long sleep
// occurs sooner or later, because each thread doubles the length of its sleeps. Fails if a thread never sleeps long
// enough, or sleeps in an unknown system call.
static measurement measure(double duration_s) {
  for (int attempt = 0; attempt < LOOK_LIMIT; attempt++) {
    const double start = now_s();
    const snapshot first = look();
    if (first.pause_s < duration_s + MARGIN_S) {
      sleep_s(LOOK_S);
      continue;
    }
    sleep_s(duration_s);
    const snapshot last = look();
    // Measures again if the measurement took too long, for example because the machine was suspended.
    if (now_s() - start > first.pause_s - MARGIN_S / 2) continue;
    return (measurement){last.switches - first.switches, memcmp(first.calls, last.calls, sizeof first.calls) == 0};
  }
  fail("a thread of the shield's does not pause for long enough");
}

static void note_status(void *context, cs_shim_status status, const char *text) {
  if (status == CS_SHIM_STATUS_REFUSED) fail(text);
  if (status == *(const cs_shim_status *)context) sem_post(&told);
}

static void *wait_for_ever(void *unused) {
  sem_post(&told);
  while (sem_wait(&never) != 0) {
  }
  return unused;
}

static double per_thread_kib(void) {
  const uint64_t before = mapped_kib(NULL, "Anonymous:");
  for (int index = 0; index < THREAD_COUNT; index++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, wait_for_ever, NULL) != 0) fail("no thread");
    while (sem_wait(&told) != 0) {
    }
  }
  return (double)(mapped_kib(NULL, "Anonymous:") - before) / THREAD_COUNT;
}

int main(int count, char **arguments) {
  if (count != 3) fail("usage: idle alone|attached SECONDS");
  static cs_shim_status expected;
  expected = strcmp(arguments[1], "attached") == 0 ? CS_SHIM_STATUS_ATTACHED : CS_SHIM_STATUS_UNREACHABLE;
  sem_init(&told, 0, 0);
  sem_init(&never, 0, 0);
  const cs_shim_configuration configuration = {.status_function = note_status, .status_context = &expected};
  free(malloc(100)); // creates the heap, so that its creation is not measured
  const uint64_t before_kib = mapped_kib(NULL, "Anonymous:");
  find_own_threads();
  if (own_count != 0) fail("a thread before the start");
  if (cs_shim_start(&configuration, NULL) != CS_SHIM_OK) fail("not started");
  while (sem_wait(&told) != 0) {
  }
  find_own_threads();
  const measurement result = measure(strtod(arguments[2], NULL));
  const uint64_t private_kib = mapped_kib(NULL, "Anonymous:") - before_kib;
  printf("threads %d switches %lu same-call %d ring-kib %lu private-kib %lu thread-kib %.1f\n", own_count,
         result.switches, result.is_same_call, mapped_kib("memfd:crash-shield", "Rss:"), private_kib, per_thread_kib());
  return 0;
}
