// Starts and ends processes with calls that Swift cannot make (variadic prctl), and code that must not be Swift
// (between fork and exec).
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

enum {
  CS_PROCESS_PID_DIGITS = 10,   // the length of the placeholder for a pid
  CS_PROCESS_SOCKET_LIMIT = 64, // the maximum number of sockets that a child gets
};

// The options of a child.
struct cs_process_options {
  int stdin_fd; // -1 means that the child inherits the parent's descriptor
  int stdout_fd;
  int stderr_fd;
  bool own_group;   // run the child in its own process group, to which the terminal sends no signals
  int death_signal; // the signal that the child gets when the parent's thread ends; 0: no signal
  const sigset_t *signal_mask;
  // The listening sockets of sd_listen_fds(3), which become the child's descriptors from 3 on. The environment must
  // then contain LISTEN_PID= with a value of CS_PROCESS_PID_DIGITS characters, which the child replaces by its pid.
  const int *sockets;
  int socket_count;
};

// Starts `file`, which is searched in PATH if the name has no slash, as in a shell. Returns 0, or the errno of the step
// that failed (ENOENT: no such program, EACCES: not executable). On a failure, *ret_pid is unchanged.
int cs_process_start(const char *file, char *const arguments[], char *const environment[],
                     const struct cs_process_options *options, pid_t *ret_pid);

// Makes this process the parent of its orphaned descendants, as the first process of a container is. The process must
// reap them.
int cs_process_adopt_orphans(void);

// Returns the pid of a child that has ended, without reaping it, or 0 if there is none.
pid_t cs_process_ended_child(void);

// Returns whether this process has more privileges than its caller, by set-user-ID, set-group-ID or file capabilities.
bool cs_process_is_secure(void);

// Ends this process by `signal_number`, as if it had no handler for the signal, and without a core dump.
_Noreturn void cs_process_die_by(int signal_number);
