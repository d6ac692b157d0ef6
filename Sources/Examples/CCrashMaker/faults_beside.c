// Programs that the shield's threads must not disturb. A thread that a library starts could receive a signal that the
// program waits for. Calls that require a single-threaded process could also fail because of this thread. Exit code 1
// means that the shield's threads disturbed the program.
#include "faults.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOBODY 65534
// The exit code of a program that has received the awaited signal: this number plus the signal number.
#define AWAITED 20

static sigset_t awaited;

void cs_prepare_awaited_signal(int signal_number) {
  sigemptyset(&awaited);
  sigaddset(&awaited, signal_number);
  // Set the mask before another thread exists, so that all threads of the program inherit it and block the signal.
  pthread_sigmask(SIG_BLOCK, &awaited, NULL);
}

static void *wait_by_sigwait(void *unused) {
  int received = 0;
  (void)unused;
  _exit(sigwait(&awaited, &received) == 0 ? AWAITED + received : 1);
}

static void *wait_by_signalfd(void *unused) {
  struct signalfd_siginfo information = {0};
  (void)unused;
  const int descriptor = signalfd(-1, &awaited, SFD_CLOEXEC);
  _exit(read(descriptor, &information, sizeof information) == sizeof information ? AWAITED + (int)information.ssi_signo
                                                                                 : 1);
}

static void send_to_waiter(int signal_number, void *(*wait_for)(void *)) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, wait_for, NULL) != 0) return;
  kill(getpid(), signal_number);
  pthread_join(thread, NULL);
}

void cs_fault_sigwait(int signal_number) {
  send_to_waiter(signal_number, wait_by_sigwait);
}

void cs_fault_signalfd(int signal_number) {
  send_to_waiter(signal_number, wait_by_signalfd);
}

static bool raise_capabilities(void) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct data[2];
  if (syscall(SYS_capget, &header, data) != 0) return false;
  for (int index = 0; index < 2; index++)
    data[index].effective = data[index].permitted;
  return syscall(SYS_capset, &header, data) == 0;
}

FAULT void cs_fault_setxid(void) {
  if (prctl(PR_SET_KEEPCAPS, 1L, 0L, 0L, 0L) != 0) _exit(2);
  if (setresgid(NOBODY, NOBODY, NOBODY) != 0 || setresuid(NOBODY, NOBODY, NOBODY) != 0) _exit(3);
  _exit(raise_capabilities() && setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 ? 0 : 1);
}

// Exits with 1 if the call fails because the process has several threads (EINVAL). Other errors are ignored, for
// example on a system that forbids user namespaces.
FAULT void cs_fault_userns(void) {
  _exit(unshare(CLONE_NEWUSER) == 0 || errno != EINVAL ? 0 : 1);
}
