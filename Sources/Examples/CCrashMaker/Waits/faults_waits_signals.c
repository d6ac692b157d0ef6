// Waits for signals: for a single signal, and for all signals except those of faults.
#include "waits.h"

#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

static const struct timespec long_time = {.tv_sec = CS_LONG_WAIT_S};

static sigset_t only_user_signal(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  return set;
}

static void wait_sigtimedwait(void) {
  const sigset_t set = only_user_signal();
  sigtimedwait(&set, NULL, &long_time);
}

static void wait_sigwaitinfo(void) {
  const sigset_t set = only_user_signal();
  sigwaitinfo(&set, NULL);
}

static void wait_sigwait(void) {
  const sigset_t set = only_user_signal();
  int signal = 0;
  sigwait(&set, &signal);
}

static void wait_signalfd(void) {
  const sigset_t set = only_user_signal();
  struct signalfd_siginfo information;
  (void)!read(signalfd(-1, &set, SFD_CLOEXEC), &information, sizeof information);
}

// Returns the signals that a server can handle in one thread: all signals except those of faults.
static sigset_t all_signals(void) {
  static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS};
  sigset_t set;
  sigfillset(&set);
  for (size_t index = 0; index < sizeof faults / sizeof *faults; index++)
    sigdelset(&set, faults[index]);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  return set;
}

static int descriptor_of_all(void) {
  const sigset_t set = all_signals();
  return signalfd(-1, &set, SFD_CLOEXEC);
}

static void wait_sigtimedwait_all(void) {
  const sigset_t set = all_signals();
  sigtimedwait(&set, NULL, &long_time);
}

static void wait_sigwaitinfo_all(void) {
  const sigset_t set = all_signals();
  sigwaitinfo(&set, NULL);
}

static void wait_sigwait_all(void) {
  const sigset_t set = all_signals();
  int signal = 0;
  sigwait(&set, &signal);
}

static void wait_sigwait_profiling(void) {
  sigset_t set;
  int signal = 0;
  sigemptyset(&set);
  sigaddset(&set, SIGPROF);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  sigwait(&set, &signal);
}

static void wait_signalfd_all(void) {
  struct signalfd_siginfo information;
  (void)!read(descriptor_of_all(), &information, sizeof information);
}

static void wait_poll_all(void) {
  struct pollfd one = {.fd = descriptor_of_all(), .events = POLLIN};
  poll(&one, 1, -1);
}

static void wait_epoll_all(void) {
  struct epoll_event event = {.events = EPOLLIN};
  const int set = epoll_create1(EPOLL_CLOEXEC);
  epoll_ctl(set, EPOLL_CTL_ADD, descriptor_of_all(), &event);
  epoll_wait(set, &event, 1, -1);
}

static void wait_ppoll_all(void) {
  const sigset_t set = all_signals();
  struct pollfd one = {.fd = descriptor_of_all(), .events = POLLIN};
  ppoll(&one, 1, NULL, &set);
}

static void wait_sigsuspend_all(void) {
  const sigset_t set = all_signals();
  sigsuspend(&set);
}

const cs_wait cs_signal_waits[CS_SIGNAL_WAIT_COUNT] = {
    {"sigtimedwait", wait_sigtimedwait},
    {"sigwaitinfo", wait_sigwaitinfo},
    {"sigwait", wait_sigwait},
    {"signalfd", wait_signalfd},
    {"sigtimedwait-all", wait_sigtimedwait_all},
    {"sigwaitinfo-all", wait_sigwaitinfo_all},
    {"sigwait-all", wait_sigwait_all},
    {"sigwait-profiling", wait_sigwait_profiling},
    {"signalfd-all", wait_signalfd_all},
    {"poll-all", wait_poll_all},
    {"epoll-all", wait_epoll_all},
    {"ppoll-all", wait_ppoll_all},
    {"sigsuspend-all", wait_sigsuspend_all},
};
