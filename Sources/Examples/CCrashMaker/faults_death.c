// Ends of a process that another process or the kernel causes.
#include "faults.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Far more than the limit of a temporary control group, but little enough for a machine without a limit.
#define OOM_BLOCKS      512
#define OOM_BLOCK_BYTES (1 << 20)

FAULT void cs_fault_oom_kill(void) {
  for (int count = 0; count < OOM_BLOCKS; count++) {
    char *block = malloc(OOM_BLOCK_BYTES);
    if (block == NULL) return;
    // The memory is written, so that it becomes resident, and is never freed.
    memset(block, count | 1, OOM_BLOCK_BYTES);
    cs_opaque(block[count]);
  }
}

// Starts a child that has all descriptors of this process and lives for at most a minute. It uses _Fork, because the
// fork handlers would close the shield's descriptors.
static pid_t start_child_with_descriptors(void) {
  const pid_t parent = getpid();
  const pid_t child = _Fork();
  if (child == 0) {
    // The wait is bounded, in case a test forgets the child. Dispatch's threads block the signal, so it is unblocked
    // here.
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    alarm(60);
    // Standard output belongs to the test. A test that reads it to the end must not wait for this child.
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

// Executes another program, prints a line, and reads standard input to its end. The test controls how long it runs.
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
