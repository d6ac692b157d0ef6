// Child processes that crash, and a process that executes another program.
#include "faults.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

// Crashes the forked child, which calls this function. This function is separate, so that the child's stack has a frame
// that is not on the parent's stack.
static FAULT void crash_child(void) {
  volatile int *number = opaque_pointer(0);
  *number = 42;
}

// Waits for the child. Exits with 0 if SIGSEGV ended the child, and with 1 otherwise.
static _Noreturn void exit_after(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
  }
  _exit(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV ? 0 : 1);
}

FAULT void cs_fault_fork_child(void) {
  const pid_t child = fork();
  if (child == 0) crash_child();
  if (child > 0) exit_after(child);
}

FAULT void cs_fault_double_fork_reattached(void) {
  const pid_t child = fork();
  if (child == 0) cs_fork_and_wait(cs_fault_null_write);
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0) {
  }
  if (child > 0) _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

void cs_fork_and_wait(void (*body)(void)) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(1);
  }
  dprintf(STDOUT_FILENO, "child %d\n", child);
  if (child > 0) exit_after(child);
}

FAULT void cs_fault_vfork_child(void) {
  const pid_t child = vfork();
  if (child == 0) crash_child();
  if (child > 0) exit_after(child);
}

FAULT void cs_fault_double_fork(void) {
  const pid_t child = fork();
  if (child == 0) {
    const pid_t grandchild = fork();
    if (grandchild == 0) crash_child();
    if (grandchild < 0) _exit(1);
    exit_after(grandchild);
  }
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0) {
  }
  if (child > 0) _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

FAULT void cs_fault_posix_spawn_child(void) {
  extern char **environ;
  pid_t child = 0;
  char path[] = "/proc/self/exe", name[] = "crash-maker", scenario[] = "null-write", wait[] = "--wait-attached";
  char *arguments[] = {name, scenario, wait, NULL};
  char target[4096];
  // Resolve /proc/self before the spawn, because in the child this link refers to another directory.
  const ssize_t size = readlink(path, target, sizeof target - 1);
  if (size <= 0) return;
  target[size] = 0;
  if (posix_spawn(&child, target, NULL, NULL, arguments, environ) != 0) return;
  dprintf(STDOUT_FILENO, "child %d\n", child);
  exit_after(child);
}

FAULT void cs_fault_exec_after_attach(void) {
  char path[] = "/bin/true";
  char *arguments[] = {path, NULL};
  execv(path, arguments);
}

void cs_prepare_pid_namespace(void) {
  // The child is the first process of the new namespace and continues. This process waits, and ends with the child's
  // status.
  if (unshare(CLONE_NEWPID) != 0) _exit(1);
  const pid_t child = fork();
  if (child == 0) return;
  if (child < 0) _exit(1);
  dprintf(STDOUT_FILENO, "child %d\n", child);
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
  }
  if (WIFSIGNALED(status)) {
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
  }
  _exit(WEXITSTATUS(status));
}
