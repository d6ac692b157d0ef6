// Programs with their own signal handlers. Functions named cs_prepare_ run before the shield starts.
#include "faults.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void say(const char *text) {
  if (write(STDERR_FILENO, text, strlen(text)) < 0) _exit(1);
}

static void end_by_handler(int signal) {
  (void)signal;
  say("the program's own handler\n");
  _exit(3);
}

static FAULT void write_through_null(void) {
  volatile int *number = opaque_pointer(0);
  *number = 42;
}

void cs_prepare_handler_chained_before(void) {
  const struct sigaction action = {.sa_handler = end_by_handler, .sa_flags = SA_ONSTACK};
  sigaction(SIGSEGV, &action, NULL);
}

FAULT void cs_fault_handler_chained_before(void) {
  volatile int *number = opaque_pointer(0);
  *number = 42; // fault: handler-chained-before
}

void cs_prepare_sa_onstack_missing(void) {
  const struct sigaction action = {.sa_handler = end_by_handler};
  sigaction(SIGSEGV, &action, NULL);
}

FAULT void cs_fault_sa_onstack_missing(void) {
  volatile int *number = opaque_pointer(0);
  *number = 42; // fault: sa-onstack-missing
}

static struct sigaction action_before;

static void chain(int signal, siginfo_t *information, void *context) {
  say("the program's own handler\n");
  if ((action_before.sa_flags & SA_SIGINFO) != 0) {
    action_before.sa_sigaction(signal, information, context);
  } else {
    sigaction(signal, &action_before, NULL);
  }
}

FAULT void cs_fault_handler_chained_after(void) {
  const struct sigaction action = {.sa_sigaction = chain, .sa_flags = SA_ONSTACK | SA_SIGINFO};
  if (sigaction(SIGSEGV, &action, &action_before) != 0) return;
  volatile int *number = opaque_pointer(0);
  *number = 42; // fault: handler-chained-after
}

static void crash_in_handler(int signal) {
  (void)signal;
  say("the program's own handler\n");
  write_through_null();
}

void cs_prepare_crash_in_previous_handler(void) {
  const struct sigaction action = {.sa_handler = crash_in_handler, .sa_flags = SA_ONSTACK};
  sigaction(SIGSEGV, &action, NULL);
}

FAULT void cs_fault_crash_in_previous_handler(void) {
  volatile int *number = opaque_pointer(0);
  *number = 42; // fault: crash-in-previous-handler
}

void cs_prepare_sigabrt_ignored(void) {
  signal(SIGABRT, SIG_IGN);
}

FAULT void cs_fault_sigabrt_ignored(void) {
  abort(); // fault: sigabrt-ignored
}

FAULT void cs_fault_swift_backtrace_enabled(void) {
  volatile int *number = opaque_pointer(0);
  *number = 42; // fault: swift-backtrace-enabled
}

FAULT void cs_fault_all_signals_blocked(void) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
  write_through_null();
}

FAULT void cs_fault_sigkill(void) {
  kill(getpid(), SIGKILL);
}
