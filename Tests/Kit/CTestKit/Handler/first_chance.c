// Programs with signal handlers that were installed before the shield, and that repair a fault or only seem to. The
// record of the fault is pending until the shield knows whether the handler has repaired the fault: then the record is
// withdrawn, or becomes a crash.
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "cs_ring_access.h"
#include "cs_shim.h"
#include "cs_testing.h"
#include "instructions.h"
#include "ways.h"

#define PAGE_BYTES  4096
#define FAULT_COUNT 500
#define NOWHERE     UINT64_C(0x38)

static volatile uint32_t *const nowhere = (volatile uint32_t *)(uintptr_t)NOWHERE;

static cs_test_chance_way way_now;
static __thread sigjmp_buf before_fault;
static volatile uint8_t *pages[2]; // one page for each thread
static int problem;                // accessed atomically: the number of the first problem that a handler found
static volatile double vector;     // the handler's last value in vector registers

static const cs_ring *ring(void) {
  return cs_testing_ring();
}

static void note(int number) {
  int none = 0;
  __atomic_compare_exchange_n(&problem, &none, number, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static void repair(int signal_number, siginfo_t *information, void *context) {
  (void)context;
  const uintptr_t page = (uintptr_t)information->si_addr & ~(uintptr_t)(PAGE_BYTES - 1);
  const bool is_ours = page == (uintptr_t)pages[0] || page == (uintptr_t)pages[1];
  // A fault at any other address gets the default action, which ends the process.
  if (!is_ours || mprotect((void *)page, PAGE_BYTES, PROT_READ | PROT_WRITE) != 0) signal(signal_number, SIG_DFL);
}

static void check(int signal_number, siginfo_t *information, void *context) {
  sigset_t mask;
  stack_t stack;
  sigprocmask(SIG_SETMASK, NULL, &mask);
  sigaltstack(NULL, &stack);
  const bool is_on_alternate = (stack.ss_flags & SS_ONSTACK) != 0;
  // The thread has an alternate stack from the shield. If the shield installs none, it has one only from
  // AddressSanitizer.
  const bool has_alternate = (stack.ss_flags & SS_DISABLE) == 0;
  if (is_on_alternate != (way_now == CS_TEST_CHANCE_ON_STACK && has_alternate)) note(11);
  if (sigismember(&mask, SIGSEGV) != 1 || sigismember(&mask, SIGUSR1) != 1 || sigismember(&mask, SIGHUP) != 1) note(12);
  if (sigismember(&mask, SIGUSR2) != 0 || sigismember(&mask, SIGTERM) != 0) note(13);
  if (signal_number != SIGSEGV || information->si_code != SEGV_ACCERR) note(14);
  for (int index = 0; index < 16; index++)
    vector = vector * 1.5 + index;
  repair(signal_number, information, context);
}

static void leave(int signal_number) {
  siglongjmp(before_fault, signal_number);
}

static void end_after_commit(int signal_number) {
  const cs_ring_slot *slot = &ring()->slots[0];
  (void)signal_number;
  while ((cs_ring_slot_state_acquire(slot) & CS_RING_STATE_MASK) != CS_RING_STATE_COMMITTED)
    usleep(1000);
  _exit(3);
}

static void put_default_back(int signal_number) {
  signal(signal_number, SIG_DFL);
}

static void send_again(int signal_number) {
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

static void end_process(int signal_number) {
  (void)signal_number;
  _exit(3);
}

static void give_up(int signal_number) {
  (void)signal_number;
  abort();
}

static void do_nothing(int signal_number) {
  (void)signal_number;
}

static struct sigaction shield;
static int later_calls;

// Calls the shield's handler by a tail call, as compilers do if a handler ends by calling the next one.
static void jump_on(int signal_number, siginfo_t *information, void *context) {
  if (++later_calls > 2 * FAULT_COUNT) _exit(17);
  __attribute__((musttail)) return shield.sa_sigaction(signal_number, information, context);
}

// A handler that is installed without SA_ONSTACK.
static void look_at_stack(int signal_number) {
  stack_t stack;
  (void)signal_number;
  sigaltstack(NULL, &stack);
  if ((stack.ss_flags & SS_ONSTACK) != 0) note(18);
}

static pthread_t faulting;

static void *send_signals(void *unused) {
  while (pthread_kill(faulting, SIGUSR2) == 0)
    sched_yield();
  return unused;
}

static void install(void) {
  struct sigaction action = {.sa_sigaction = repair, .sa_flags = SA_SIGINFO};
  void (*const plain[])(int) = {
      [CS_TEST_CHANCE_LEFT] = leave,
      [CS_TEST_CHANCE_LEFT_THEN_CRASH] = leave,
      [CS_TEST_CHANCE_LEFT_DEEPER] = leave,
      [CS_TEST_CHANCE_DEFAULT] = put_default_back,
      [CS_TEST_CHANCE_SENT_AGAIN] = send_again,
      [CS_TEST_CHANCE_ENDS] = end_process,
      [CS_TEST_CHANCE_LATE] = end_after_commit,
      [CS_TEST_CHANCE_ABORTS] = give_up,
      [CS_TEST_CHANCE_LOOPS] = do_nothing,
      [CS_TEST_CHANCE_ONCE] = do_nothing,
  };
  if (way_now < sizeof plain / sizeof plain[0] && plain[way_now] != NULL) {
    action.sa_flags = way_now == CS_TEST_CHANCE_ONCE ? SA_RESETHAND : 0;
    action.sa_handler = plain[way_now];
  }
  if (way_now == CS_TEST_CHANCE_OWN_STACK || way_now == CS_TEST_CHANCE_ON_STACK) {
    action.sa_sigaction = check;
    sigaddset(&action.sa_mask, SIGUSR1);
    if (way_now == CS_TEST_CHANCE_ON_STACK) action.sa_flags |= SA_ONSTACK;
  }
  sigaction(SIGSEGV, &action, NULL);
}

static void fault_on(volatile uint8_t *page, int count) {
  for (int index = 0; index < count; index++) {
    mprotect((void *)(uintptr_t)page, PAGE_BYTES, PROT_NONE);
    if (sigsetjmp(before_fault, 1) == 0) page[index] = (uint8_t)index;
  }
}

static void *fault_beside(void *page) {
  fault_on(page, FAULT_COUNT);
  return NULL;
}

static void *run_beside(void *unused) {
  for (;;)
    sched_yield();
  return unused;
}

// Ends the process as soon as the ring has a committed crash.
static void *await_crash(void *unused) {
  const cs_ring_slot *slots = ring()->slots;
  for (int index = 0;; index = (index + 1) % CS_RING_SLOT_LIMIT) {
    if ((cs_ring_slot_state_acquire(&slots[index]) & CS_RING_STATE_MASK) == CS_RING_STATE_COMMITTED) _exit(0);
    sched_yield();
  }
  return unused;
}

static void await_withdrawal(void) {
  const cs_ring_slot *slot = &ring()->slots[0];
  while ((cs_ring_slot_state_acquire(slot) & CS_RING_STATE_MASK) == CS_RING_STATE_PENDING)
    usleep(1000);
}

// Waits until the watchdog has withdrawn the pending record. This function's frame overwrites the stack memory on which
// the handler ran.
static __attribute__((noinline)) void await_withdrawal_deeper(void) {
  volatile uint8_t places[8 * PAGE_BYTES];
  for (size_t index = 0; index < sizeof places; index++)
    places[index] = 1;
  await_withdrawal();
  if ((cs_ring_slot_state_acquire(&ring()->slots[0]) & CS_RING_STATE_MASK) != CS_RING_STATE_FREE) note(19);
}

// A handler changes a vector register. Checks that the register has its old value after the handler.
static void keep_vector(void) {
  const uint64_t before = UINT64_C(0x0123456789abcdef);
  mprotect((void *)(uintptr_t)pages[0], PAGE_BYTES, PROT_NONE);
  if (cs_test_vector_over_write(before, pages[0]) != before) note(15);
}

static int run(cs_test_chance_way way, const char *directory) {
  pthread_t beside;
  sigset_t some;
  way_now = way;
  sigemptyset(&some);
  sigaddset(&some, SIGHUP);
  sigprocmask(SIG_BLOCK, &some, NULL);
  for (int index = 0; index < 2; index++)
    pages[index] = mmap(NULL, PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  install();
  const bool has_deadline = way == CS_TEST_CHANCE_LATE || way == CS_TEST_CHANCE_LEFT_DEEPER;
  if (has_deadline) setenv("CRASHSHIELD_DEADLINE_MS", "100", 1);
  cs_test_start(directory);
  const bool repairs = way == CS_TEST_CHANCE_REPAIRED || way == CS_TEST_CHANCE_THEN_CRASH;
  void *(*const routine)(void *) = repairs                           ? fault_beside
                                   : way == CS_TEST_CHANCE_LOOPS     ? await_crash
                                   : way == CS_TEST_CHANCE_SIGNALLED ? send_signals
                                                                     : run_beside;
  const struct sigaction looks = {.sa_handler = look_at_stack, .sa_flags = SA_RESTART};
  const struct sigaction jumps = {.sa_sigaction = jump_on, .sa_flags = SA_SIGINFO};
  faulting = pthread_self();
  if (way == CS_TEST_CHANCE_SIGNALLED) sigaction(SIGUSR2, &looks, NULL);
  sigaction(SIGSEGV, NULL, &shield);
  if (way == CS_TEST_CHANCE_JUMPED_TO) sigaction(SIGSEGV, &jumps, NULL);
  if (pthread_create(&beside, NULL, routine, (void *)(uintptr_t)pages[1]) != 0) return 10;
  if (way == CS_TEST_CHANCE_OVERFLOW) cs_test_recurse(0);
  if (way == CS_TEST_CHANCE_OWN_STACK || way == CS_TEST_CHANCE_ON_STACK) keep_vector();
  fault_on(pages[0], FAULT_COUNT);
  if (repairs) pthread_join(beside, NULL);
  if (way == CS_TEST_CHANCE_LEFT) await_withdrawal();
  if (way == CS_TEST_CHANCE_LEFT_DEEPER) await_withdrawal_deeper();
  if (way == CS_TEST_CHANCE_JUMPED_TO) return problem;
  if (way == CS_TEST_CHANCE_LEFT_THEN_CRASH) cs_test_undefined_instruction();
  if (way == CS_TEST_CHANCE_THEN_CRASH) *nowhere = 1;
  return ring()->header.sweep == CS_RING_SWEEP_NONE ? problem : 16;
}

int cs_test_run_chance(cs_test_chance_way way, const char *directory) {
  const int child = cs_test_fork();
  if (child == 0) _exit(run(way, directory));
  return cs_test_wait(child);
}
