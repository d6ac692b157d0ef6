// Measures the cost of a crash below 36 function calls, in a process with 1,000 waiting threads, and in a process with
// 100 running threads. scripts/measure/crash builds and runs this program. `crash WAY` crashes in the situation WAY,
// and `crash read FILE` prints the costs that the ring in FILE recorded. `crash reference WAY` prints the cost of
// simpler work on the same machine, with which the script compares the cost of the crash. `crash copy` and `crash
// lines` survive their crash. `crash copy` prints the time of a copy of the ring to the spool. `crash lines` prints the
// time for which the handler writes its lines to stderr (last words and record line).
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../../CShim/Handler/Signal/Deliver/deliver.h"
#include "../../../CShim/Handler/Signal/Lines/lines.h"
#include "cs_ring.h"
#include "cs_shim.h"

#define DEPTH          36
#define IDLE_COUNT     1000
#define SPINNING_COUNT 100
#define STACK_BYTES    65536
#define MARK           "fault-ns"
#define COPY_COUNT     1000

static volatile uint32_t *volatile nowhere = (volatile uint32_t *)8;
static pthread_barrier_t ready;
static sem_t never;
static sem_t answered;
static pthread_t threads[IDLE_COUNT];

static void mark(void) {
  struct timespec now;
  char text[24];
  clock_gettime(CLOCK_MONOTONIC, &now);
  const int size = snprintf(text, sizeof text, "%" PRIu64, (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
  cs_shim_annotate(MARK, strlen(MARK), text, (size_t)size);
}

static uint32_t fault(void) {
  mark();
  return *nowhere;
}

__attribute__((noinline)) static uint32_t descend(uint32_t depth) {
  volatile uint32_t here = depth;
  const uint32_t below = depth == 0 ? fault() : descend(depth - 1);
  return here + below;
}

static void *idle(void *unused) {
  pthread_barrier_wait(&ready);
  while (sem_wait(&never) != 0) {
  }
  return unused;
}

static void *spin(void *unused) {
  pthread_barrier_wait(&ready);
  for (volatile uint32_t count = 0;; count = count + 1) {
  }
  return unused;
}

static void make_threads(unsigned count, void *(*routine)(void *)) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, STACK_BYTES);
  sem_init(&never, 0, 0);
  pthread_barrier_init(&ready, NULL, count + 1);
  for (unsigned index = 0; index < count; index++) {
    if (pthread_create(&threads[index], &attributes, routine, NULL) != 0) exit(3);
  }
  pthread_barrier_wait(&ready);
}

static uint64_t marked_ns(const cs_ring *ring) {
  for (size_t index = 0; index < CS_RING_ANNOTATION_LIMIT; index++) {
    const cs_ring_annotation *annotation = &ring->annotations[index];
    if (annotation->key_bytes != strlen(MARK) || memcmp(annotation->key, MARK, strlen(MARK)) != 0) continue;
    return strtoull((const char *)annotation->value, NULL, 10);
  }
  return 0;
}

// Prints five numbers: the microseconds from the fault to the commit of the record, the number of frames, the
// microseconds of the thread sweep, the number of threads, and how many threads answered.
static int print_costs(const char *path) {
  static cs_ring ring;
  FILE *file = fopen(path, "re");
  if (file == NULL || fread(&ring, sizeof ring, 1, file) != 1 || fclose(file) != 0) return 4;
  const cs_ring_slot *slot = &ring.slots[0];
  const uint64_t start_ns = marked_ns(&ring);
  uint32_t whole = 0;
  for (uint32_t index = 0; index < ring.header.thread_count; index++)
    whole += ring.threads[index].record.answer == CS_RING_ANSWER_WHOLE;
  if ((slot->state & CS_RING_STATE_MASK) != CS_RING_STATE_COMMITTED || start_ns == 0) return 5;
  if (ring.header.sweep != CS_RING_SWEEP_DONE) return 6;
  printf("%" PRIu64 " %u %" PRIu64 " %u %u\n", (slot->commit_ns - start_ns) / 1000, slot->record.frame_total,
         ring.header.sweep_ns / 1000, ring.header.thread_total, whole);
  return 0;
}

static sigjmp_buf before_crash;

static void go_on(int number) {
  siglongjmp(before_crash, number);
}

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int by_size(const void *left, const void *right) {
  const uint64_t a = *(const uint64_t *)left;
  const uint64_t b = *(const uint64_t *)right;
  return (a > b) - (a < b);
}

// Prints the minimum and the median time of copying the ring to the spool, in microseconds.
static int print_copies(void) {
  static uint64_t times[COPY_COUNT];
  const struct sigaction action = {.sa_handler = go_on};
  if (sigaction(SIGSEGV, &action, NULL) != 0 || cs_shim_start(NULL, NULL) != CS_SHIM_OK) return 2;
  if (sigsetjmp(before_crash, 1) == 0) return (int)descend(DEPTH);
  // Sets the mode of the spool directory that crashd would set, because no crashd runs.
  if (chmod(cs_process.spool_directory, 01733) != 0) return 7;
  for (size_t index = 0; index < COPY_COUNT; index++) {
    const uint64_t start = now_ns();
    if (!cs_spool_copy()) return 8;
    times[index] = now_ns() - start;
  }
  qsort(times, COPY_COUNT, sizeof times[0], by_size);
  printf("%" PRIu64 " %" PRIu64 "\n", times[0] / 1000, times[COPY_COUNT / 2] / 1000);
  return 0;
}

// Prints three times in nanoseconds: the minimum and the median time of writing the lines to stderr, and the time from
// the fault to the commit. The program handles SIGABRT, so that the shield captures the crash before it calls the
// program's handler.
static int print_lines(void) {
  static uint64_t times[COPY_COUNT];
  const struct sigaction action = {.sa_handler = go_on};
  if (sigaction(SIGSEGV, &action, NULL) != 0 || sigaction(SIGABRT, &action, NULL) != 0) return 2;
  if (cs_shim_start(NULL, NULL) != CS_SHIM_OK) return 2;
  if (sigsetjmp(before_crash, 1) == 0) return (int)descend(DEPTH);
  const cs_ring_slot *slot = &cs_process.ring->slots[0];
  if ((slot->state & CS_RING_STATE_MASK) != CS_RING_STATE_COMMITTED) return 5;
  for (size_t index = 0; index < COPY_COUNT; index++) {
    cs_lines_forget();
    const uint64_t start = now_ns();
    cs_lines_write();
    times[index] = now_ns() - start;
  }
  qsort(times, COPY_COUNT, sizeof times[0], by_size);
  printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", times[0], times[COPY_COUNT / 2],
         slot->commit_ns - marked_ns(cs_process.ring));
  return 0;
}

static void answer(int number) {
  (void)number;
  sem_post(&answered);
}

// Sends a signal to all threads, and returns the microseconds until each has run a handler that only posts a semaphore.
static uint64_t signal_all_us(unsigned count) {
  const struct sigaction action = {.sa_handler = answer, .sa_flags = SA_RESTART};
  if (sem_init(&answered, 0, 0) != 0 || sigaction(SIGPROF, &action, NULL) != 0) exit(9);
  const uint64_t start = now_ns();
  for (unsigned index = 0; index < count; index++) {
    if (pthread_kill(threads[index], SIGPROF) != 0) exit(9);
  }
  for (unsigned index = 0; index < count; index++) {
    while (sem_wait(&answered) != 0) {
    }
  }
  return (now_ns() - start) / 1000;
}

// Returns the microseconds to fork a child that exits at once, and to wait for this child.
static uint64_t fork_us(void) {
  const uint64_t start = now_ns();
  const pid_t pid = fork();
  if (pid == 0) _exit(0);
  if (pid < 0 || waitpid(pid, NULL, 0) != pid) exit(9);
  return (now_ns() - start) / 1000;
}

// Prints the microseconds of the reference work: one fork for `deep`, or else one signal to each thread.
static int print_reference(const char *way) {
  uint64_t us = 0;
  if (strcmp(way, "idle") == 0) {
    make_threads(IDLE_COUNT, idle);
    us = signal_all_us(IDLE_COUNT);
  } else if (strcmp(way, "spinning") == 0) {
    make_threads(SPINNING_COUNT, spin);
    us = signal_all_us(SPINNING_COUNT);
  } else {
    us = fork_us();
  }
  printf("%" PRIu64 "\n", us);
  return 0;
}

int main(int count, char **arguments) {
  const char *way = count > 1 ? arguments[1] : "";
  if (strcmp(way, "reference") == 0 && count > 2) return print_reference(arguments[2]);
  if (strcmp(way, "copy") == 0) return print_copies();
  if (strcmp(way, "lines") == 0) return print_lines();
  if (strcmp(way, "read") == 0 && count > 2) return print_costs(arguments[2]);
  if (cs_shim_start(NULL, NULL) != CS_SHIM_OK) return 2;
  if (strcmp(way, "idle") == 0) make_threads(IDLE_COUNT, idle);
  if (strcmp(way, "spinning") == 0) make_threads(SPINNING_COUNT, spin);
  return (int)descend(DEPTH);
}
