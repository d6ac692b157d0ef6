#include "cs_platform.h"

#if CS_SUPPORTED

#include "fault_injection.h"

#include "../Dispatch/trusted.h"

#include <sched.h>
#include <sys/mman.h>

#define FOR_EVER_NS INT64_C(999999999)

static void crash(void) SIGNAL_SAFE {
  volatile uint32_t *nowhere = (volatile uint32_t *)(uintptr_t)8;
  *nowhere = 0;
}

static int *holder; // shared memory, in which the child process stores its pid

int cs_injection_holder(void) SIGNAL_SAFE {
  return holder != NULL ? __atomic_load_n(holder, __ATOMIC_ACQUIRE) : 0;
}

// Makes this thread wait in the kernel: creates a child process as vfork() does, but with separate memory. The child
// ends when the thread that created it ends, because of PR_SET_PDEATHSIG.
static void be_held(void) SIGNAL_SAFE {
  const long memory =
      cs_system_call(SYS_mmap, 0, sizeof *holder, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const int self = cs_getpid();
  if (memory < 0) return;
  holder = (int *)memory;
  const long child = cs_system_call(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0, 0);
  if (child != 0) return;
  cs_system_call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0, 0);
  __atomic_store_n(holder, cs_getpid(), __ATOMIC_RELEASE);
  // If the parent ended before the call of prctl(), the kernel sends no signal. This loop detects that the parent has
  // ended.
  while (cs_system_call(SYS_getppid, 0, 0, 0, 0, 0, 0) == self)
    cs_sleep_ns(FOR_EVER_NS);
  cs_system_call(SYS_exit_group, 0, 0, 0, 0, 0, 0);
}

void cs_inject(void) SIGNAL_SAFE {
  const uint64_t all = ~UINT64_C(0);
  __atomic_fetch_add(&cs_process.injections_met, 1, __ATOMIC_RELAXED);
  if (cs_process.injection == CS_INJECT_CRASH) crash();
  if (cs_process.injection == CS_INJECT_HELD) {
    be_held();
    return;
  }
  if (cs_process.injection == CS_INJECT_DEAF) cs_sigmask(SIG_SETMASK, &all);
  for (volatile uint32_t count = 0;; count = count + 1) {
    if (cs_process.injection != CS_INJECT_LOOP) cs_sleep_ns(FOR_EVER_NS);
  }
}

#endif
