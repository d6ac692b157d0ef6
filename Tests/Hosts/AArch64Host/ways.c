// Runs the child programs of CTestKit whose result depends on the architecture. The Swift tests cannot run them for
// AArch64, because that needs a Swift compiler for AArch64.
#include "host.h"

#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../Kit/CTestKit/Handler/ways.h"

#include "cs_shim.h"
#include "cs_test_support.h"
#include "cs_testing.h"

#define ENDED_WELL   0
#define ENDED_WITH_3 (-3)
#define ANY          UINT32_MAX

typedef struct way {
  const char *name;
  int kind; // selects the function that runs the child program `number`
  uint32_t number;
  int end; // a signal, or ENDED_…
  uint32_t committed;
  uint32_t frames; // the minimum number of frames in the first record
} way;

enum { PLAIN, CHANCE, STUCK, INJECTED, CONTAINED };

static const way ways[] = {
    {"segv", PLAIN, CS_TEST_SEGV, SIGSEGV, 1, 4},
    {"ill", PLAIN, CS_TEST_ILL, SIGILL, 1, 4},
    {"sys", PLAIN, CS_TEST_SYS, SIGSYS, 1, 4},
    {"sent", PLAIN, CS_TEST_SENT, SIGSEGV, 1, 4},
    {"stack overflow", PLAIN, CS_TEST_STACK_OVERFLOW, SIGSEGV, 1, 192},
    {"thread overflow", PLAIN, CS_TEST_THREAD_OVERFLOW, SIGSEGV, 1, 192},
    {"small thread overflow", PLAIN, CS_TEST_SMALL_THREAD_OVERFLOW, SIGSEGV, 1, 192},
    {"destructor overflow", PLAIN, CS_TEST_DESTRUCTOR_OVERFLOW, SIGSEGV, 1, 192},
    {"own stack overflow", PLAIN, CS_TEST_OWN_STACK_OVERFLOW, SIGSEGV, 1, 192},
    {"bad call", PLAIN, CS_TEST_BAD_CALL, SIGSEGV, 1, 4},
    {"call of data", PLAIN, CS_TEST_CALL_OF_DATA, SIGSEGV, 1, 4},
    {"smashed stack", PLAIN, CS_TEST_SMASHED_STACK, SIGSEGV, 1, 1},
    {"crash in the handler", PLAIN, CS_TEST_IN_HANDLER, SIGSEGV, 1, 1},
    {"eight threads", PLAIN, CS_TEST_EIGHT_THREADS, SIGSEGV, 8, 3},
    {"previous handler returns", PLAIN, CS_TEST_PREVIOUS_RETURNS, ENDED_WELL, ANY, 0},
    {"ignored signal", PLAIN, CS_TEST_IGNORED, ENDED_WELL, ANY, 0},
    {"ignored while reading", PLAIN, CS_TEST_IGNORED_WHILE_READING, ENDED_WELL, ANY, 0},
    {"chained abort", PLAIN, CS_TEST_CHAINED_ABORT, SIGABRT, 1, 4},
    {"chained fault", PLAIN, CS_TEST_CHAINED_FAULT, SIGILL, 1, 4},
    {"child starts", PLAIN, CS_TEST_CHILD_STARTS, ENDED_WELL, ANY, 0},
    {"alternate stacks", PLAIN, CS_TEST_STACKS_GIVEN, ENDED_WELL, ANY, 0},
    {"alternate stacks taken back", PLAIN, CS_TEST_STACKS_TAKEN_BACK, ENDED_WELL, ANY, 0},
    {"handler crashes in a sweep", PLAIN, CS_TEST_SWEEP_HANDLER_CRASHES, SIGABRT, ANY, 0},
    {"profiler", PLAIN, CS_TEST_SWEEP_PROFILER, ENDED_WELL, ANY, 0},
    {"repaired", CHANCE, CS_TEST_CHANCE_REPAIRED, ENDED_WELL, 0, 0},
    {"repaired, then a crash", CHANCE, CS_TEST_CHANCE_THEN_CRASH, SIGSEGV, 1, 1},
    {"left", CHANCE, CS_TEST_CHANCE_LEFT, ENDED_WELL, 0, 0},
    {"left, then a crash", CHANCE, CS_TEST_CHANCE_LEFT_THEN_CRASH, SIGILL, 1, 1},
    {"signalled", CHANCE, CS_TEST_CHANCE_SIGNALLED, ENDED_WELL, 0, 0},
    {"default action", CHANCE, CS_TEST_CHANCE_DEFAULT, SIGSEGV, 1, 4},
    {"sent again", CHANCE, CS_TEST_CHANCE_SENT_AGAIN, SIGSEGV, 1, 4},
    {"handler ends", CHANCE, CS_TEST_CHANCE_ENDS, ENDED_WITH_3, 0, 4},
    {"handler aborts", CHANCE, CS_TEST_CHANCE_ABORTS, SIGABRT, ANY, 4},
    {"loops", CHANCE, CS_TEST_CHANCE_LOOPS, ENDED_WELL, ANY, 0},
    {"once", CHANCE, CS_TEST_CHANCE_ONCE, SIGSEGV, 1, 4},
    {"own stack", CHANCE, CS_TEST_CHANCE_OWN_STACK, ENDED_WELL, 0, 0},
    {"on stack", CHANCE, CS_TEST_CHANCE_ON_STACK, ENDED_WELL, 0, 0},
    {"overflow", CHANCE, CS_TEST_CHANCE_OVERFLOW, SIGSEGV, 1, 1},
    {"stuck, chained", STUCK, CS_TEST_STUCK_CHAINED, ENDED_WELL, ANY, 0},
    {"stuck, chained abort", STUCK, CS_TEST_STUCK_CHAINED_ABORT, ENDED_WELL, ANY, 0},
    {"stuck, blocked", STUCK, CS_TEST_STUCK_BLOCKED, ENDED_WELL, ANY, 0},
    {"stuck child", STUCK, CS_TEST_STUCK_CHILD, ENDED_WELL, ANY, 0},
    {"crash at the registers", INJECTED, CS_INJECT_REGISTERS, SIGSEGV, 1, 1},
    {"crash at the commit", INJECTED, CS_INJECT_COMMIT, SIGSEGV, 1, 4},
    {"crash at the delivery", INJECTED, CS_INJECT_DELIVERY, SIGSEGV, ANY, 0},
    {"contained trap", CONTAINED, 0, ENDED_WELL, ANY, 0},
    {"trap with a stream", CONTAINED, 1, SIGTRAP, 1, 4},
};

static void trap(void *unused) {
  (void)unused;
  __builtin_trap();
}

// Traps while the thread holds the lock of a stream. The trap must end the process: otherwise other threads could wait
// forever for the lock.
static void trap_with_stream(void *unused) {
  flockfile(stdout);
  trap(unused);
}

// Runs contained work that traps, in a child process. A contained trap ends only the thread of the work, and the shield
// records an incident.
static int contain(void (*work)(void *), const char *directory) {
  const int child = cs_test_fork();
  if (child != 0) return cs_test_wait(child);
  cs_test_start(directory);
  const char *obstacle = cs_shim_contained_obstacle();
  if (obstacle != NULL) printf("aarch64-host: %s\n", obstacle);
  const bool is_contained =
      cs_shim_contained_run(work, NULL) == CS_SHIM_CONTAINED_TRAPPED && cs_shim_contained_parked() == 1;
  const cs_ring *ring = cs_testing_ring();
  const bool has_incident = ring->incidents[0].key != 0 && ring->incidents[0].use_count > 0;
  _exit(is_contained && has_incident && ring->header.slot_head == 0 ? 0 : 1);
}

static int run(const way *wanted, const char *directory) {
  const cs_test_patience none = {0};
  switch (wanted->kind) {
  case CHANCE:
    return cs_test_run_chance((cs_test_chance_way)wanted->number, directory);
  case STUCK:
    return cs_test_run_stuck((cs_test_stuck_way)wanted->number, directory);
  case CONTAINED:
    return contain(wanted->number == 0 ? trap : trap_with_stream, directory);
  case INJECTED:
    return cs_test_run_injected(CS_INJECT_CRASH, wanted->number, 1, none, directory);
  default:
    return cs_test_run((cs_test_way)wanted->number, directory);
  }
}

static bool has_ended(const way *wanted, int status) {
  if (wanted->end == ENDED_WELL) return status == 0;
  if (wanted->end == ENDED_WITH_3) return WIFEXITED(status) && WEXITSTATUS(status) == 3;
  return WIFSIGNALED(status) && WTERMSIG(status) == wanted->end;
}

static bool is_right(const way *wanted, const char *parent) {
  char directory[256];
  char spool_directory[300];
  cs_test_spool spool = {0};
  snprintf(directory, sizeof directory, "%s/%s", parent, wanted->name);
  snprintf(spool_directory, sizeof spool_directory, "%s/spool", directory);
  if (mkdir(directory, 0700) != 0 || mkdir(spool_directory, 0700) != 0) return complain(wanted->name, "mkdir failed");
  const int status = run(wanted, directory);
  if (!has_ended(wanted, status)) return complain(wanted->name, "wait status %#x", status);
  if (!cs_test_read_spool(directory, &spool)) return complain(wanted->name, "a spool file is not a ring");
  if (wanted->committed != ANY && spool.committed_count != wanted->committed) {
    return complain(wanted->name, "%u records instead of %u", spool.committed_count, wanted->committed);
  }
  if (spool.bad_checksum_count != 0) return complain(wanted->name, "a wrong checksum");
  if (spool.frame_count < wanted->frames) return complain(wanted->name, "%u frames", spool.frame_count);
  return true;
}

static bool is_nested(const way *wanted) {
  return wanted->kind == INJECTED || (wanted->kind == PLAIN && wanted->number == CS_TEST_IN_HANDLER);
}

int run_ways(const char *directory, bool has_nested, int *ret_failures) {
  int count = 0;
  for (size_t index = 0; index < sizeof ways / sizeof ways[0]; index++) {
    if (!has_nested && is_nested(&ways[index])) continue;
    *ret_failures += !is_right(&ways[index], directory);
    count++;
  }
  return count;
}
