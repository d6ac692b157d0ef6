// Programs whose forked children start the shield like their parents, and programs that start the shield in two steps.
#include "ways.h"

#include <dirent.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../../CShim/Handler/Setup/setup.h"
#include "cs_shim.h"
#include "cs_testing.h"

static volatile uint32_t *volatile nowhere = (volatile uint32_t *)8;
static uint8_t parents_id[16];
static cs_shim_request parents_request;
static cs_shim_request parents_overflow; // the handle of a request that found no free entry

static cs_shim_request begin_request(void) {
  const cs_shim_text operation = {.start = "GET /", .bytes = 5};
  const cs_shim_request request = cs_shim_request_begin(operation, operation);
  cs_shim_request_run(request);
  return request;
}

// Runs in a forked child that has started the shield. Returns true if both conditions hold: the handle of the parent's
// request identifies no request in the child, even if a request of the child uses the same entry; and the child does
// not count the ends of the parent's requests.
static bool has_own_requests(const cs_ring *ring) {
  if (cs_shim_request_number(parents_request) != 0) return false;
  cs_shim_request_end(parents_request, false);
  cs_shim_request_end(parents_overflow, false);
  const cs_shim_request request = begin_request();
  return ring->header.request_finished == 0 && cs_shim_request_number(request) == 1 && ring->requests[0].number == 1 &&
         cs_shim_request_number(parents_request) == 0;
}

static bool is_annotated(const cs_ring *ring) {
  const cs_ring_annotation *entry = &ring->annotations[0];
  return entry->sequence == 2 && entry->key_bytes == 7 && memcmp(entry->key, "version", 7) == 0 &&
         entry->value_bytes == 5 && memcmp(entry->value, "1.4.2", 5) == 0;
}

// Runs in a child that has started the shield. Crashes if the child has the parent's configuration but its own ring.
// Otherwise exits with the number of the failed check.
static void crash_like_parent(const cs_ring *parent, uint32_t image_count) {
  const cs_ring *ring = cs_testing_ring();
  if (!cs_shim_is_started() || ring == NULL || ring == parent) _exit(10);
  if (memcmp(ring->header.ring_id, parents_id, sizeof parents_id) == 0) _exit(11);
  if (ring->header.pid != getpid() || strcmp((const char *)ring->header.name, "shim-tests") != 0) _exit(12);
  if (!is_annotated(ring) || ring->header.image_count != image_count) _exit(13);
  if (!cs_shim_annotate("child", 5, "yes", 3)) _exit(14);
  if (!has_own_requests(ring)) _exit(16);
  *nowhere = 1;
  _exit(15);
}

static int end_of(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) != child) {
  }
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static void start_in_child(void) {
  if (cs_shim_is_started() || cs_shim_start_in_forked_child(NULL) != CS_SHIM_OK) _exit(20);
  if (cs_shim_start_in_forked_child(NULL) != CS_SHIM_ALREADY_STARTED) _exit(21);
}

// Returns 0 if the child ended by its crash and the parent's ring does not contain that crash.
static int fork_and_crash(const char *directory, cs_test_way way) {
  (void)directory;
  const cs_ring *ring = cs_testing_ring();
  const uint32_t image_count = ring->header.image_count;
  memcpy(parents_id, ring->header.ring_id, sizeof parents_id);
  if (!cs_shim_annotate("version", 7, "1.4.2", 5)) return 1;
  parents_request = begin_request();
  for (uint32_t count = 0; count < CS_RING_REQUEST_LIMIT; count++)
    parents_overflow = begin_request();
  if (ring->header.request_overflow != 1) return 6;
  const pid_t child = fork();
  if (child == 0) {
    if (way == CS_TEST_GRANDCHILD) {
      const pid_t grandchild = fork();
      if (grandchild > 0) _exit(-end_of(grandchild));
    }
    if (way == CS_TEST_CHILD_LIKE_PARENT || way == CS_TEST_GRANDCHILD) start_in_child();
    crash_like_parent(ring, image_count);
  }
  const int end = end_of(child);
  if (end != (way == CS_TEST_GRANDCHILD ? SIGSEGV : -SIGSEGV)) return end > 0 ? end : 2;
  if (ring->header.slot_head != 0 || ring->annotations[1].sequence != 0) return 3;
  if (cs_shim_request_number(parents_request) != 1) return 5;
  cs_shim_request_end(parents_overflow, false);
  if (ring->header.request_finished != 1) return 7;
  return cs_shim_is_started() && cs_shim_annotate("later", 5, "yes", 3) ? 0 : 4;
}

static int hold_lock(struct dl_phdr_info *info, size_t size, void *barrier) {
  (void)info;
  (void)size;
  pthread_barrier_wait(barrier);
  pthread_barrier_wait(barrier);
  return 1;
}

static void *hold_loader_lock(void *barrier) {
  dl_iterate_phdr(hold_lock, barrier);
  return NULL;
}

static int fork_beside_loader_lock(const char *directory) {
  pthread_barrier_t barrier;
  pthread_t holder;
  pthread_barrier_init(&barrier, NULL, 2);
  if (pthread_create(&holder, NULL, hold_loader_lock, &barrier) != 0) return 30;
  pthread_barrier_wait(&barrier);
  const int result = fork_and_crash(directory, CS_TEST_CHILD_REATTACHES);
  pthread_barrier_wait(&barrier);
  pthread_join(holder, NULL);
  return result;
}

static int child_of_nobody(void) {
  cs_shim_failure failure = {0};
  const cs_shim_error error = cs_shim_start_in_forked_child(&failure);
  return error == CS_SHIM_BAD_ARGUMENT && failure.what[0] != 0 && !cs_shim_is_started() ? 0 : 1;
}

static size_t thread_count(void) {
  size_t count = 0;
  DIR *entries = opendir("/proc/self/task");
  while (entries != NULL && readdir(entries) != NULL)
    count++;
  if (entries != NULL) closedir(entries);
  return count - 2;
}

static int start_early(const char *directory, bool is_completed) {
  char path[256];
  snprintf(path, sizeof path, "%s/attach", directory);
  setenv("CRASHSHIELD_SOCKET", path, 1);
  const size_t threads = thread_count();
  cs_start_early();
  const cs_ring *ring = cs_testing_ring();
  if (ring == NULL || !cs_shim_is_started() || thread_count() != threads) return 1;
  if (!cs_shim_annotate("version", 7, "1.4.2", 5)) return 2;
  if (is_completed) {
    const uint32_t image_count = ring->header.image_count;
    cs_test_start(directory); // ends the process if the start fails
    if (cs_testing_ring() != ring || !is_annotated(ring) || thread_count() == threads) return 3;
    if (ring->header.image_count != image_count) return 4;
    if (strcmp((const char *)ring->header.name, "shim-tests") != 0) return 5;
    if (cs_shim_start(NULL, NULL) != CS_SHIM_ALREADY_STARTED) return 6;
    cs_start_early(); // has no effect, because the shield has already started
    if (cs_testing_ring() != ring) return 7;
  }
  *nowhere = 1;
  return 8;
}

int cs_test_forks_run(cs_test_way way, const char *directory) {
  if (way == CS_TEST_EARLY || way == CS_TEST_EARLY_THEN_START) {
    return start_early(directory, way == CS_TEST_EARLY_THEN_START);
  }
  if (way == CS_TEST_CHILD_OF_NOBODY) return child_of_nobody();
  if (way < CS_TEST_CHILD_LIKE_PARENT || way > CS_TEST_GRANDCHILD) return -1;
  if (way == CS_TEST_CHILD_REATTACHES || way == CS_TEST_CHILD_BESIDE_LOADER_LOCK) setenv("CRASHSHIELD_FORK", "1", 1);
  cs_test_start(directory);
  if (way == CS_TEST_CHILD_BESIDE_LOADER_LOCK) return fork_beside_loader_lock(directory);
  return fork_and_crash(directory, way);
}
