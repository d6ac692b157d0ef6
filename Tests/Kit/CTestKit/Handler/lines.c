#include "cs_test_lines.h"

#include <fcntl.h>
#include <pthread.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cs_test_support.h"
#include "ways.h"

#include "../../../../CShim/Handler/Signal/Dispatch/state.h"
#include "../../../../CShim/Handler/Signal/Lines/last_words.h"
#include "../../../../CShim/Handler/Signal/Lines/output.h"
#include "../../../../CShim/Handler/Signal/Lines/pieces.h"
#include "../../../../CShim/Handler/Signal/Lines/record_line.h"

// The handler's code uses static buffers, so only one test at a time is allowed to call it. The lock is a pthread
// mutex, because ThreadSanitizer does not detect locks of Swift's Mutex.
static pthread_mutex_t calling = PTHREAD_MUTEX_INITIALIZER;

size_t cs_test_record_line(void *ring, uint32_t slot, bool is_bare, char *ret_line) {
  pthread_mutex_lock(&calling);
  cs_ring *const before = cs_process.ring;
  cs_process.ring = ring;
  cs_process.has_incidents = 1;
  const size_t size = cs_record_line(slot, is_bare, ret_line);
  cs_process.ring = before;
  cs_process.has_incidents = 0;
  pthread_mutex_unlock(&calling);
  return size;
}

size_t cs_test_last_words(void *ring, uint32_t slot, bool is_bare, char *ret_line) {
  pthread_mutex_lock(&calling);
  cs_ring *const before = cs_process.ring;
  cs_process.ring = ring;
  const size_t size = cs_last_words(&cs_process.ring->slots[slot].record, is_bare, ret_line);
  cs_process.ring = before;
  pthread_mutex_unlock(&calling);
  return size;
}

bool cs_test_output_line(int descriptor, const void *line, size_t size) {
  struct stat status = {0};
  return fstat(descriptor, &status) == 0 && cs_output_line(descriptor, &status, line, size);
}

uint32_t cs_test_put_words(const uint64_t *words, uint32_t count, uint32_t step, uint8_t *ret_bytes, size_t limit,
                           size_t *ret_size) {
  cs_pieces pieces = cs_pieces_begin(ret_bytes, 0, limit);
  const uint32_t done = cs_pieces_put_words(&pieces, 0, words, count, step);
  *ret_size = pieces.state.count;
  return done;
}

// A child process sets CRASHSHIELD_LAST_WORDS, because the environment of the test process must not change.
int cs_test_run_repaired_with_words(const char *directory) {
  const pid_t child = fork();
  if (child == 0) {
    char path[512];
    (void)snprintf(path, sizeof path, "%s/words", directory);
    if (setenv("CRASHSHIELD_LAST_WORDS", path, 1) != 0) _exit(0);
    const int status = cs_test_run_chance(CS_TEST_CHANCE_THEN_CRASH, directory);
    _exit(WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

bool cs_test_open_terminal(int *ret_ends) {
  return openpty(&ret_ends[0], &ret_ends[1], NULL, NULL, NULL) == 0;
}

static int *volatile nowhere;

static int run_with_stderr(const char *directory, int flags) {
  char path[512];
  if (setenv("CRASHSHIELD_LAST_WORDS", "stderr", 1) != 0) return 91;
  cs_test_start(directory);
  (void)snprintf(path, sizeof path, "%s/replaced", directory);
  const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | flags, 0600);
  if (file < 0 || dup2(file, STDERR_FILENO) != STDERR_FILENO) return 92;
  *nowhere = 1;
  return 93;
}

int cs_test_run_with_replaced_stderr(const char *directory, bool appends) {
  const int child = cs_test_fork();
  if (child == 0) _exit(run_with_stderr(directory, appends ? O_APPEND : 0));
  return cs_test_wait(child);
}
