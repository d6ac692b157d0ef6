// Deaths that somebody else decides on.
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

// The child has the parent's descriptors, and outlives it.
FAULT void cs_fault_sigkill_with_child(void) {
  pid_t parent = getpid();
  pid_t child = fork();
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
  if (child < 0) return;
  printf("child %d\n", (int)child);
  (void)fflush(stdout);
  kill(parent, SIGKILL);
}
