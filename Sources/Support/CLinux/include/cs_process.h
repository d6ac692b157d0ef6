// Starts and ends processes: what Swift cannot call (variadic prctl) or must not do (code between fork and exec).
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

// The options of a child.
struct cs_process_options {
  int stdin_fd; // -1: the parent's
  int stdout_fd;
  int stderr_fd;
  bool own_group;   // so that the terminal's signals do not reach it
  int death_signal; // sent when the parent's thread ends; 0: none
  const sigset_t *signal_mask;
};

// Starts `file`, searched in PATH when it has no slash, like a shell. Returns 0, or the errno of what failed (ENOENT:
// no such program, EACCES: not executable); *ret_pid is untouched then.
int cs_process_start(const char *file, char *const arguments[], char *const environment[],
                     const struct cs_process_options *options, pid_t *ret_pid);

// Whether this process has more rights than its caller: set-user-ID, set-group-ID or file capabilities.
bool cs_process_is_secure(void);

// Ends this process by `signal_number` as if no handler had caught it, without a core dump.
_Noreturn void cs_process_die_by(int signal_number);
