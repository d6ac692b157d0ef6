// The supervisor: starts the program in a child process, and prints how the program ended. The program can end by a
// signal at any time. Therefore its counters are in shared memory, and the supervisor keeps the ring mapped.
#include "host.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// The supervisor kills the program after this time. A correct run takes only a few seconds.
#define DEADLINE_MS (4 * 60 * 1000)

// The program's descriptors are first duplicated to numbers above this one, so that dup2() to a final number closes
// none of them.
#define FILES_ABOVE 10

static void fail(const char *what) {
  perror(what);
  exit(2);
}

// Closes inherited epoll descriptors. They belong to event loops of another process, and the shield could mistake one
// of them for the event loop of the program.
static void close_inherited_loops(void) {
  for (int descriptor = 3; descriptor < 1024; descriptor++) {
    char path[32], target[64] = {0};
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    const bool is_epoll = readlink(path, target, sizeof target - 1) > 0 && strstr(target, "[eventpoll]") != NULL;
    if (is_epoll) close(descriptor);
  }
}

static void run_program(int argc, char **argv, int supervisor, int counters) {
  char *arguments[argc + 2];
  arguments[0] = argv[0];
  arguments[1] = (char *)"--run";
  // `argv` ends with NULL, and so does the copy.
  memcpy(arguments + 2, argv + 1, (size_t)argc * sizeof *argv);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int first = fcntl(supervisor, F_DUPFD_CLOEXEC, FILES_ABOVE);
  const int second = fcntl(counters, F_DUPFD_CLOEXEC, FILES_ABOVE);
  if (dup2(first, CH_SUPERVISOR_FILE) < 0 || dup2(second, CH_COUNTERS_FILE) < 0) _exit(2);
  execv("/proc/self/exe", arguments);
  _exit(2);
}

// Waits until one of the descriptors is readable. Returns false if the deadline passes first.
static bool await(struct pollfd *wanted, nfds_t count) {
  return poll(wanted, count, DEADLINE_MS) > 0;
}

static void print_end(int status, bool is_hung) {
  if (is_hung)
    printf("\"end\": \"hung\"");
  else if (WIFSIGNALED(status))
    printf("\"end\": \"signal %d\"", WTERMSIG(status));
  else
    printf("\"end\": \"exit %d\"", WEXITSTATUS(status));
}

static void print_counters(void) {
  static const char *const names[CH_COUNTERS] = {
      [CH_BEGUN] = "begun",
      [CH_TRAPPING] = "trapping",
      [CH_FINISHED_INDEPENDENT] = "finishedIndependent",
      [CH_TRAPPED_INDEPENDENT] = "trappedIndependent",
      [CH_ENDED_INDEPENDENT] = "endedIndependent",
      [CH_FINISHED_DEPENDENT] = "finishedDependent",
      [CH_TRAPPED_DEPENDENT] = "trappedDependent",
      [CH_ENDED_DEPENDENT] = "endedDependent",
      [CH_BAD_RETURNED] = "badReturned",
      [CH_BAD_TRAPPED] = "badTrapped",
      [CH_BAD_ENDED] = "badEnded",
      [CH_BAD_FAILED] = "badFailed",
      [CH_CAPACITY] = "capacity",
      [CH_SERIAL] = "serial",
      [CH_DRAINS] = "drains",
      [CH_CUT_OFF] = "cutOff",
      [CH_CHILD_END] = "childEnd",
      [CH_RESIDENT_BEFORE] = "residentBefore",
      [CH_RESIDENT_AFTER] = "residentAfter",
      [CH_FILES_BEFORE] = "filesBefore",
      [CH_FILES_AFTER] = "filesAfter",
  };
  for (uint32_t counter = 0; counter < CH_COUNTERS; counter++)
    printf(", \"%s\": %llu", names[counter], (unsigned long long)ch_get((ch_counter)counter));
}

int ch_supervise(int argc, char **argv) {
  int ends[2] = {-1, -1};
  close_inherited_loops();
  const int counters = memfd_create("containment-host", MFD_CLOEXEC);
  if (counters < 0 || ftruncate(counters, CH_COUNTERS * sizeof(uint64_t)) != 0 || !ch_counters_map(counters))
    fail("the counters");
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail("socketpair");
  const pid_t pid = fork();
  if (pid < 0) fail("fork");
  if (pid == 0) run_program(argc, argv, ends[1], counters);
  close(ends[1]);
  const int process = (int)syscall(SYS_pidfd_open, pid, 0);
  if (process < 0) fail("pidfd_open");

  struct pollfd wanted[] = {{.fd = process, .events = POLLIN}, {.fd = ends[0], .events = POLLIN}};
  char byte = 0;
  const cs_ring *ring = NULL;
  bool is_hung = !await(wanted, 2);
  // read() returns 0 if the program ended before it waited for the supervisor.
  if ((wanted[1].revents & POLLIN) && read(ends[0], &byte, 1) == 1) {
    ring = ch_ring_of(pid);
    send(ends[0], &byte, 1, MSG_NOSIGNAL);
  }
  is_hung = is_hung || !await(wanted, 1);
  if (is_hung) kill(pid, SIGKILL);
  int status = 0;
  if (waitpid(pid, &status, 0) != pid) fail("waitpid");

  printf("{\"pid\": %d, ", (int)pid);
  print_end(status, is_hung);
  print_counters();
  if (ring != NULL) ch_print_ring(ring);
  puts("}");
  return fflush(stdout) == 0 ? 0 : 2;
}
