// Scenarios in which another process or the kernel ends the process.
#include "faults.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The total is far more memory than the limit of the test's control group, but little enough for a machine without this
// limit.
#define OOM_BLOCKS      512
#define OOM_BLOCK_BYTES (1 << 20)

FAULT void cs_fault_oom_kill(void) {
  for (int count = 0; count < OOM_BLOCKS; count++) {
    char *block = malloc(OOM_BLOCK_BYTES);
    if (block == NULL) return;
    // Write the memory, so that it becomes resident, and never free it.
    memset(block, count | 1, OOM_BLOCK_BYTES);
    cs_opaque(block[count]);
  }
}

// Starts a child that has all descriptors of this process and ends after at most a minute. _Fork is used because fork()
// would run the shield's fork handlers, which close its descriptors.
static pid_t start_child_with_descriptors(void) {
  const pid_t parent = getpid();
  const pid_t child = _Fork();
  if (child == 0) {
    // End the child by SIGALRM if a test does not end it. Unblock the signal, because Dispatch's threads block it.
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    alarm(60);
    // Close the child's copy of standard output, because a test that reads the output to its end must not wait for this
    // child.
    dup2(STDERR_FILENO, STDOUT_FILENO);
    for (;;)
      pause();
  }
  if (child > 0) dprintf(STDOUT_FILENO, "child %d\n", (int)child);
  return child > 0 ? parent : -1;
}

FAULT void cs_fault_sigkill_with_child(void) {
  const pid_t parent = start_child_with_descriptors();
  if (parent > 0) kill(parent, SIGKILL);
}

// Executes a program that prints a line and reads standard input to its end, so that the test controls how long it
// runs.
FAULT void cs_fault_exec_and_stay(void) {
  char path[] = "/bin/sh";
  char option[] = "-c";
  char script[] = "echo became; exec cat";
  char *arguments[] = {path, option, script, NULL};
  execv(path, arguments);
}

FAULT void cs_fault_exec_with_child(void) {
  if (start_child_with_descriptors() > 0) cs_fault_exec_and_stay();
}

FAULT void cs_fault_exec_again_with_child(void) {
  char path[] = "/proc/self/exe", name[] = "crash-maker", scenario[] = "sigkill", attached[] = "--wait-attached",
       input[] = "--wait-input";
  char *arguments[] = {name, scenario, attached, input, NULL};
  if (start_child_with_descriptors() > 0) execv(path, arguments);
}
