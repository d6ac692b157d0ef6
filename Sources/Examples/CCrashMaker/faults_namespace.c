// A signal that crosses a pid namespace. The sender has no pid in the receiver's namespace.
#include "faults.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

// The descriptor through which the program requests to be killed, or -1 if no process listens.
static int asking = -1;

// The first process of the namespace, without which no other process can start in it. It ends with its parent.
static void be_first(int lifeline) {
  char nothing;
  while (read(lifeline, &nothing, 1) > 0) {
  }
  _exit(0);
}

// Kills the child when the child requests it, and then ends in the same way.
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
  // The loop is bounded. The signal normally arrives in the first second.
  for (int second = 0; second < 10; second++) {
    sleep(1);
  }
}

FAULT void cs_fault_kill_over_namespace(void) {
  wait_to_be_killed();
  cs_opaque(1);
}
