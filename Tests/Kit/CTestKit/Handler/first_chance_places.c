// Signal handlers that were installed before the shield started, in cases in which the shield can hardly detect whether
// the handler has repaired the fault, or has been left by a jump.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "cs_ring_access.h"
#include "cs_testing.h"
#include "instructions.h"
#include "ways.h"

#define LEAVERS 2
// The time in seconds for which the trap occurs again and again. It exceeds LOOP_NS (first_chance.c) by more than a
// second, because seconds() drops the fraction of a second.
#define TRAPPING_S 3

static volatile uint32_t *volatile nowhere = (volatile uint32_t *)(uintptr_t)0x38;
static volatile uint32_t *volatile elsewhere = (volatile uint32_t *)(uintptr_t)8;

static __thread sigjmp_buf before_fault;
static __thread bool is_leaver;

static uint32_t state_of(uint32_t slot) {
  const cs_ring *ring = cs_testing_ring();
  return (uint32_t)(cs_ring_slot_state_acquire(&ring->slots[slot]) & CS_RING_STATE_MASK);
}

// Returns whether a slot of the ring other than slot 0 has a pending record (neither withdrawn nor a crash yet).
static bool is_pending_beside(void) {
  for (uint32_t slot = 1; slot < CS_RING_SLOT_LIMIT; slot++) {
    if (state_of(slot) == CS_RING_STATE_PENDING) return true;
  }
  return false;
}

static void *fault_and_leave(void *unused) {
  sigset_t own;
  // The new thread inherits the signal mask of the handler that creates it. This mask blocks SIGSEGV.
  sigemptyset(&own);
  sigaddset(&own, SIGSEGV);
  pthread_sigmask(SIG_UNBLOCK, &own, NULL);
  is_leaver = true;
  if (sigsetjmp(before_fault, 1) == 0) *elsewhere = 1;
  return unused;
}

// At each wake-up, the watchdog checks all records, and withdraws the records of threads that have ended. Therefore,
// after two withdrawals, the watchdog has also checked the record of this thread, which is in slot 0.
static void leave_or_end(int signal_number) {
  if (is_leaver) siglongjmp(before_fault, signal_number);
  for (int leaver = 0; leaver < LEAVERS; leaver++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, fault_and_leave, NULL) != 0) _exit(92);
    pthread_join(thread, NULL);
    while (is_pending_beside())
      usleep(1000);
  }
  _exit(3);
}

static int run_without_proc(const char *directory) {
  cs_test_leave_namespaces(0);
  signal(SIGSEGV, leave_or_end);
  cs_test_start(directory);
  cs_test_hide_proc();
  *nowhere = 1;
  return 96;
}

int cs_test_run_chance_without_proc(const char *directory) {
  const int child = cs_test_fork();
  if (child == 0) _exit(run_without_proc(directory));
  return cs_test_wait(child);
}

static time_t trapping_end;

static time_t seconds(void) {
  struct timespec now = {0};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

// At the end, the ring must contain no committed crash: the watchdog has withdrawn the records of the earlier calls,
// and the record of this call is still pending.
static void end_late(int signal_number, siginfo_t *information, void *context) {
  uint32_t crashes = 0;
  (void)signal_number;
  (void)information;
  cs_test_skip_breakpoint(context);
  if (seconds() < trapping_end) return;
  for (uint32_t slot = 0; slot < CS_RING_SLOT_LIMIT; slot++)
    crashes += state_of(slot) == CS_RING_STATE_COMMITTED ? 1 : 0;
  _exit(crashes == 0 ? 0 : 97);
}

static int run_traps(const char *directory) {
  const struct sigaction action = {.sa_sigaction = end_late, .sa_flags = SA_SIGINFO};
  sigaction(SIGTRAP, &action, NULL);
  cs_test_start(directory);
  trapping_end = seconds() + TRAPPING_S;
  cs_test_breakpoint_forever();
  return 98;
}

int cs_test_run_traps(const char *directory) {
  const int child = cs_test_fork();
  if (child == 0) _exit(run_traps(directory));
  return cs_test_wait(child);
}
