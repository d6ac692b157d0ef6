// Signal handlers that the program has installed, and that re-raise the crash signal, as faulthandler and glog do.
#include "faults.h"

#include <signal.h>
#include <stdbool.h>

static struct sigaction replaced;

// The call in this function must not be a tail call, because the function's frame must be on the stack.
static void raise_again(int signal) {
  sigaction(signal, &replaced, NULL);
  raise(signal);
  cs_opaque(signal);
}

static void take(int signal, int more_flags) {
  const struct sigaction action = {.sa_handler = raise_again, .sa_flags = SA_ONSTACK | more_flags};
  sigaction(signal, &action, &replaced);
}

FAULT void cs_fault_reraise_segv(void) {
  take(SIGSEGV, SA_NODEFER);
  volatile int *number = opaque_pointer(0);
  *number = 42; // fault: reraise-segv
}

// Re-raises a signal that is blocked while the handler runs, so that it is delivered after the handler has returned.
FAULT void cs_fault_reraise_pending(void) {
  take(SIGSEGV, 0);
  volatile int *number = opaque_pointer(0);
  *number = 42; // fault: reraise-pending
}

// This function calls only itself, as descend() in faults_stack.c does.
static FAULT int64_t descend_again(int64_t depth) {
  volatile char room[512];
  room[0] = (char)depth;
  if (depth == INT64_MAX) return room[0];
  int64_t next = depth + 1;
  __asm__ volatile("" : "+r"(next)); // returns its argument, like cs_opaque
  return descend_again(next) + room[0];
}

FAULT void cs_fault_reraise_overflow(void) {
  take(SIGSEGV, SA_NODEFER);
  cs_opaque(descend_again(0));
}

FAULT void cs_fault_reraise_trap(void) {
  take(SIGILL, SA_NODEFER);
  __builtin_trap(); // fault: reraise-trap
}
