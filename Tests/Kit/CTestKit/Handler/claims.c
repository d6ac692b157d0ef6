// Two threads that try to claim the same slot of the ring.
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "../../../../CShim/Handler/Signal/Dispatch/crasher.h"
#include "../../../../CShim/Handler/Signal/FaultInjection/fault_injection.h"
#include "../../../../CShim/Handler/Signal/Kernel/system_call.h"
#include "cs_ring_access.h"
#include "ways.h"

static const siginfo_t information = {.si_signo = SIGSEGV};
static cs_crasher *late;

static cs_crasher *claim(void) {
  return cs_crasher_claim(cs_gettid(), SIGSEGV, &information, NULL);
}

static void *claim_late(void *unused) {
  late = claim();
  return unused;
}

static int late_claim(const char *directory) {
  pthread_t thread;
  cs_test_start(directory);
  const cs_ring *ring = cs_testing_ring();
  // The new thread gets the first ticket (the number that selects a slot), and the injection stops it before it claims
  // this slot.
  cs_testing_inject(CS_INJECT_HELD, CS_INJECT_CLAIM);
  if (pthread_create(&thread, NULL, claim_late, NULL) != 0) return 1;
  while (cs_injection_holder() == 0)
    sched_yield();
  cs_testing_inject(CS_INJECT_HELD, 0);
  cs_crasher *keeper = NULL;
  for (int count = 0; count < CS_RING_SLOT_LIMIT; count++) {
    keeper = claim();
    if (keeper == NULL) return 2;
    keeper->slot->record.address = 4711;
    cs_crasher_commit(keeper);
    if (count + 1 < CS_RING_SLOT_LIMIT) cs_crasher_release(keeper);
  }
  if (keeper->slot != &ring->slots[0]) return 3;
  const uint64_t state = cs_ring_slot_state_acquire(keeper->slot);
  if (!cs_testing_let_go() || pthread_join(thread, NULL) != 0) return 4;
  if (late == NULL || late == keeper) return 5;
  if (cs_ring_slot_state_acquire(keeper->slot) != state || keeper->slot->record.address != 4711) return 6;
  return keeper->tid == cs_gettid() && ring->header.slot_overwritten == 1 ? 0 : 7;
}

int cs_test_run_late_claim(const char *directory) {
  const int child = cs_test_fork();
  if (child == 0) _exit(late_claim(directory));
  return cs_test_wait(child);
}
