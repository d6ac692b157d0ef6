#include "cs_platform.h"

#if CS_SUPPORTED

#include "own_threads.h"

#include "../Dispatch/trusted.h"
#include "../Kernel/system_call.h"

// A crashing thread waits at most 20 ms (200 × 0.1 ms) until the connection's thread has woken crashd. The limit is
// necessary, because the connection's thread can itself be waiting for a callback of the program.
#define ANSWER_TRIES    200
#define ANSWER_SLEEP_NS 100000

static int tids[CS_OWN_ALL_ROLES]; // atomic
static uint32_t is_attached;       // atomic: whether crashd has accepted the process over the current connection
static uint32_t asked;             // atomic: how many crashes have asked the connection's thread to wake crashd
static uint32_t answered;          // atomic: the value of `asked` for which the connection's thread last woke crashd
static uint32_t is_in_callback;    // atomic
static uint32_t are_dismissed;     // atomic

int cs_own_tid(cs_own_role role) SIGNAL_SAFE {
  return __atomic_load_n(&tids[role], __ATOMIC_ACQUIRE);
}

void cs_own_tid_set(cs_own_role role, int tid) SIGNAL_SAFE {
  __atomic_store_n(&tids[role], tid, __ATOMIC_RELEASE);
}

bool cs_own_is_idle(int tid) SIGNAL_SAFE {
  if (tid == cs_own_tid(CS_OWN_CALLER)) return __atomic_load_n(&is_in_callback, __ATOMIC_SEQ_CST) == 0;
  return tid == cs_own_tid(CS_OWN_WATCHDOG) || tid == cs_own_tid(CS_OWN_LINK) || tid == cs_own_tid(CS_OWN_ENDER) ||
         tid == cs_own_tid(CS_OWN_ANSWERS);
}

void cs_own_runs_callback(bool does) SIGNAL_SAFE {
  __atomic_store_n(&is_in_callback, does ? 1 : 0, __ATOMIC_SEQ_CST);
}

// Returns whether the calling thread is a thread of the shield that runs code of the program with the crash signals
// unblocked.
static bool has_open_signals(void) SIGNAL_SAFE {
  char name[16] = {0};
  const int self = cs_gettid();
  if (self == cs_own_tid(CS_OWN_CALLER) || self == cs_own_tid(CS_OWN_ANSWERS) || self == cs_own_tid(CS_OWN_DRAIN)) {
    return true;
  }
  // The quarantine's thread and the thread of Shield.incidents belong to other libraries, so this code does not have
  // their thread IDs. It recognizes these threads by their names.
  cs_thread_name(name);
  return memcmp(name, CS_OWN_REAPER_NAME, sizeof CS_OWN_REAPER_NAME) == 0 ||
         memcmp(name, CS_OWN_INCIDENTS_NAME, sizeof CS_OWN_INCIDENTS_NAME) == 0;
}

// If a thread of the shield passes on a signal that kill() sent, the signal's value is this address and its code is
// SI_QUEUE.
static char kill_mark;

// The kernel does not let a thread other than the first one queue a signal with the code SI_USER. A thread of the
// shield therefore passes the signal on with the code SI_QUEUE.
static void mark(siginfo_t *information) SIGNAL_SAFE {
  if (information->si_code == SI_USER) information->si_value.sival_ptr = &kill_mark;
  information->si_code = SI_QUEUE;
}

static void unmark(siginfo_t *information) SIGNAL_SAFE {
  if (information->si_code != SI_QUEUE || information->si_value.sival_ptr != &kill_mark) return;
  information->si_value.sival_ptr = NULL;
  information->si_code = SI_USER;
}

bool cs_own_passes_on(int signal, siginfo_t *information, ucontext_t *context) SIGNAL_SAFE {
  unmark(information);
  const bool is_to_process = information->si_code == SI_USER || information->si_code == SI_QUEUE;
  if (!is_to_process || !has_open_signals()) return false;
  const uint64_t only = UINT64_C(1) << (signal - 1);
  uint64_t mask = 0;
  cs_sigmask(SIG_BLOCK, &only);
  siginfo_t queued = *information;
  mark(&queued);
  const int pid = cs_getpid();
  if (cs_system_call(SYS_rt_sigqueueinfo, pid, signal, (long)&queued, 0, 0, 0) != 0 &&
      cs_system_call(SYS_kill, pid, signal, 0, 0, 0, 0) != 0) {
    return false;
  }
  memcpy(&mask, &context->uc_sigmask, sizeof mask);
  mask |= only;
  memcpy(&context->uc_sigmask, &mask, sizeof mask);
  return true;
}

void cs_own_link_attached(bool is_so) SIGNAL_SAFE {
  __atomic_store_n(&is_attached, is_so ? 1 : 0, __ATOMIC_SEQ_CST);
}

bool cs_own_link_is_asked(uint32_t *ret_number) SIGNAL_SAFE {
  *ret_number = __atomic_load_n(&asked, __ATOMIC_SEQ_CST);
  return *ret_number != __atomic_load_n(&answered, __ATOMIC_SEQ_CST);
}

void cs_own_link_has_woken(uint32_t number) SIGNAL_SAFE {
  __atomic_store_n(&answered, number, __ATOMIC_SEQ_CST);
}

bool cs_own_link_wakes_crashd(void) SIGNAL_SAFE {
  const int tid = cs_own_tid(CS_OWN_LINK);
  if (tid == 0 || __atomic_load_n(&is_attached, __ATOMIC_SEQ_CST) == 0) return false;
  const uint32_t mine = __atomic_add_fetch(&asked, 1, __ATOMIC_SEQ_CST);
  if (cs_system_call(SYS_tgkill, cs_getpid(), tid, CS_OWN_BELL, 0, 0, 0) != 0) return false;
  for (int attempt = 0; attempt < ANSWER_TRIES; attempt++) {
    // Compares the counters by their difference, because they may wrap around.
    if ((int32_t)(__atomic_load_n(&answered, __ATOMIC_SEQ_CST) - mine) >= 0) return true;
    cs_sleep_ns(ANSWER_SLEEP_NS);
  }
  return false;
}

bool cs_own_are_dismissed(void) SIGNAL_SAFE {
  return __atomic_load_n(&are_dismissed, __ATOMIC_SEQ_CST) != 0;
}

void cs_own_dismiss(bool is_so) SIGNAL_SAFE {
  __atomic_store_n(&are_dismissed, is_so ? 1 : 0, __ATOMIC_SEQ_CST);
}

void cs_own_forget(void) SIGNAL_SAFE {
  for (int role = 0; role < CS_OWN_ALL_ROLES; role++)
    cs_own_tid_set((cs_own_role)role, 0);
  cs_own_runs_callback(false);
  cs_own_dismiss(false);
  cs_own_link_attached(false);
}

#endif
