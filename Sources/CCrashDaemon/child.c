// Child processes, and threads.
#include "cd_system.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

static int prepare(posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes, int input, int output,
                   int error) {
  int result = posix_spawn_file_actions_adddup2(actions, input, 0);
  if (result == 0) result = posix_spawn_file_actions_adddup2(actions, output, 1);
  if (result == 0) result = posix_spawn_file_actions_adddup2(actions, error, 2);
  if (result == 0) result = posix_spawn_file_actions_addclosefrom_np(actions, 3);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  if (result == 0) result = posix_spawnattr_setsigmask(attributes, &none);
  if (result == 0) result = posix_spawnattr_setsigdefault(attributes, &all);
  if (result == 0) result = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  return result;
}

int cd_spawn(const char *path, char *const *arguments, int input, int output, int error, int32_t *ret_pid) {
  // dup2 onto itself would keep close-on-exec, and one dup2 could overwrite the source of the next.
  if (input < 3 || output < 3 || error < 3) return EINVAL;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int result = posix_spawn_file_actions_init(&actions);
  if (result != 0) return result;
  result = posix_spawnattr_init(&attributes);
  if (result != 0) {
    posix_spawn_file_actions_destroy(&actions);
    return result;
  }
  // Swift's own backtracer would try what a confined process may not.
  static char backtracer[] = "SWIFT_BACKTRACE=enable=no";
  char *const environment[] = {backtracer, NULL};
  pid_t pid = 0;
  result = prepare(&actions, &attributes, input, output, error);
  if (result == 0) result = posix_spawn(&pid, path, &actions, &attributes, arguments, environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (result == 0) *ret_pid = pid;
  return result;
}

int cd_pipe_create(int *ret_reader, int *ret_writer) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    return errno;
  }
  *ret_reader = ends[0];
  *ret_writer = ends[1];
  return 0;
}

void cd_thread_set_name(const char *name) {
  pthread_setname_np(pthread_self(), name);
}

int cd_child_status(int32_t pid, int *ret_status) {
  int status = 0;
  pid_t result;
  do
    result = waitpid(pid, &status, WNOHANG);
  while (result < 0 && errno == EINTR);
  if (result < 0) return errno;
  if (result == 0) return EAGAIN;
  *ret_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return 0;
}
