// Deaths that another process or the kernel decides on.
#include "faults.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Far more than a throw-away control group may have, and little enough for a machine where nothing limits it.
#define OOM_BLOCKS      512
#define OOM_BLOCK_BYTES (1 << 20)

FAULT void cs_fault_oom_kill(void) {
  for (int count = 0; count < OOM_BLOCKS; count++) {
    char *block = malloc(OOM_BLOCK_BYTES);
    if (block == NULL) return;
    // Touched, thus in memory; never freed.
    memset(block, count | 1, OOM_BLOCK_BYTES);
    cs_opaque(block[count]);
  }
}

// A child that has all of this process's descriptors, and lives as long as it. By _Fork: fork's handlers would close
// the shield's.
static pid_t start_child_with_descriptors(void) {
  const pid_t parent = getpid();
  const pid_t child = _Fork();
  if (child == 0) {
    // Bounded, for a test that forgets it. Dispatch's threads block the signal.
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    alarm(60);
    // Its standard output is the test's: who reads that to its end must not wait for this child.
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

// It says that it has become another program, and reads its standard input to the end: a test says how long it lives.
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
