#include "cs_process.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIRST_SOCKET 3

// Moves the sockets to the descriptors from 3 on, without close-on-exec. Returns the errno of the step that failed.
static int pass_sockets(const int *sockets, int count) {
  // The target number of one socket can be the number of another socket. Therefore first copy all sockets to numbers
  // above all targets, so that no socket is overwritten.
  int copies[CS_PROCESS_SOCKET_LIMIT];
  for (int i = 0; i < count; i++) {
    copies[i] = fcntl(sockets[i], F_DUPFD_CLOEXEC, FIRST_SOCKET + count);
    if (copies[i] < 0) {
      return errno;
    }
  }
  for (int i = 0; i < count; i++) {
    if (dup2(copies[i], FIRST_SOCKET + i) < 0) {
      return errno;
    }
  }
  return 0;
}

// Writes the pid of this process into its environment, as the value of LISTEN_PID.
static void write_pid(char *const environment[]) {
  static const char name[] = "LISTEN_PID=";
  for (; *environment != NULL; environment++) {
    char *value = *environment + sizeof name - 1;
    if (strncmp(*environment, name, sizeof name - 1) != 0 || strlen(value) != CS_PROCESS_PID_DIGITS) {
      continue;
    }
    char digits[CS_PROCESS_PID_DIGITS];
    int count = 0;
    for (unsigned rest = (unsigned)getpid(); rest > 0; rest /= 10) {
      digits[count++] = (char)('0' + rest % 10);
    }
    while (count > 0) {
      *value++ = digits[--count];
    }
    *value = 0;
    return;
  }
}

// Prepares the child between fork and exec. Returns the errno of the step that failed.
static int become(const char *file, char *const arguments[], char *const environment[],
                  const struct cs_process_options *options, pid_t parent) {
  if (options->own_group && setpgid(0, 0) != 0) {
    return errno;
  }
  if (options->death_signal != 0) {
    if (prctl(PR_SET_PDEATHSIG, options->death_signal) != 0) {
      return errno;
    }
    // If the parent ended before the call of prctl, no death signal comes.
    if (getppid() != parent) {
      return ESRCH;
    }
  }
  const int wanted[3] = {options->stdin_fd, options->stdout_fd, options->stderr_fd};
  for (int i = 0; i < 3; i++) {
    if (wanted[i] >= 0 && dup2(wanted[i], i) < 0) {
      return errno;
    }
  }
  if (options->socket_count > 0) {
    const int error = pass_sockets(options->sockets, options->socket_count);
    if (error != 0) {
      return error;
    }
    write_pid(environment);
  }
  if (pthread_sigmask(SIG_SETMASK, options->signal_mask, NULL) != 0) {
    return errno;
  }
  execvpe(file, arguments, environment);
  return errno;
}

int cs_process_start(const char *file, char *const arguments[], char *const environment[],
                     const struct cs_process_options *options, pid_t *ret_pid) {
  if (options->socket_count > CS_PROCESS_SOCKET_LIMIT) {
    return E2BIG;
  }
  // The child reports a failure through this pipe. A successful exec closes the write end, so that the parent reads the
  // end of the file.
  int failure[2];
  if (pipe2(failure, O_CLOEXEC) != 0) {
    return errno;
  }
  // The sockets of the child must not replace the write end of the pipe, so the write end gets a number above theirs.
  const int writer = fcntl(failure[1], F_DUPFD_CLOEXEC, FIRST_SOCKET + options->socket_count);
  const int writer_error = errno;
  close(failure[1]);
  if (writer < 0) {
    close(failure[0]);
    return writer_error;
  }
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    const int error = become(file, arguments, environment, options, parent);
    // If this write also fails, the parent gets only the exit code 127, as in a shell.
    (void)!write(writer, &error, sizeof error);
    _exit(127);
  }
  int result = child < 0 ? errno : 0;
  close(writer);
  if (child > 0) {
    ssize_t count;
    int error = 0;
    do {
      count = read(failure[0], &error, sizeof error);
    } while (count < 0 && errno == EINTR);
    if (count == sizeof error) {
      result = error;
      while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
      }
    }
  }
  close(failure[0]);
  if (result == 0) {
    *ret_pid = child;
  }
  return result;
}

int cs_process_adopt_orphans(void) {
  return prctl(PR_SET_CHILD_SUBREAPER, 1) == 0 ? 0 : errno;
}

pid_t cs_process_ended_child(void) {
  siginfo_t information = {0};
  return waitid(P_ALL, 0, &information, WEXITED | WNOHANG | WNOWAIT) == 0 ? information.si_pid : 0;
}

bool cs_process_is_secure(void) {
  return getauxval(AT_SECURE) != 0 || getuid() != geteuid() || getgid() != getegid();
}

void cs_process_die_by(int signal_number) {
  // Prevent a core dump of this process, because it would replace the core dump of the program that this process ran.
  // Also make the process undumpable, because the size limit does not apply if core_pattern names a program.
  const struct rlimit none = {0, 0};
  (void)setrlimit(RLIMIT_CORE, &none);
  (void)prctl(PR_SET_DUMPABLE, 0);
  (void)signal(signal_number, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal_number);
  (void)raise(signal_number);
  (void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  // This line is only reached for a signal whose default action does not end the process.
  _exit(128 + signal_number);
}
