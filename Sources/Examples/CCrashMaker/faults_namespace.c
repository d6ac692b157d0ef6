// A signal from outside the receiver's pid namespace. The sender does not have a pid in that namespace.
#include "faults.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

// The descriptor through which the program requests to be killed; -1 if the outside process does not exist.
static int asking = -1;

// Runs as the first process of the namespace. Other processes can start in the namespace only while its first process
// exists. The first process ends together with its parent.
static void be_first(int lifeline) {
  char nothing;
  while (read(lifeline, &nothing, 1) > 0) {
  }
  _exit(0);
}

// Runs outside of the namespace: kills the child when the child requests it, and then ends with the child's status.
static void stay_outside(pid_t first, pid_t child, int requests) {
  dprintf(STDOUT_FILENO, "child %d\n", child);
  char request;
  if (read(requests, &request, 1) == 1) kill(child, SIGABRT);
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
  }
  kill(first, SIGKILL);
  while (waitpid(first, NULL, 0) < 0) {
  }
  if (WIFSIGNALED(status)) {
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
  }
  _exit(WEXITSTATUS(status));
}

void cs_prepare_kill_over_namespace(void) {
  int lifeline[2], requests[2];
  if (pipe(lifeline) != 0 || pipe(requests) != 0 || unshare(CLONE_NEWPID) != 0) _exit(1);
  const pid_t first = fork();
  if (first == 0) {
    close(lifeline[1]);
    close(requests[0]);
    close(requests[1]);
    be_first(lifeline[0]);
  }
  const pid_t child = first < 0 ? -1 : fork();
  if (child < 0) _exit(1);
  if (child == 0) {
    close(lifeline[0]);
    close(lifeline[1]);
    close(requests[0]);
    asking = requests[1];
    return;
  }
  close(requests[1]);
  stay_outside(first, child, requests[0]);
}

static FAULT void wait_to_be_killed(void) {
  if (write(asking, "", 1) != 1) return;
  // Wait at most ten seconds; the signal normally arrives in the first second.
  for (int second = 0; second < 10; second++) {
    sleep(1);
  }
}

FAULT void cs_fault_kill_over_namespace(void) {
  wait_to_be_killed();
  cs_opaque(1);
}
