#include "cs_platform.h"

#if CS_SUPPORTED

#include "reach.h"

#include "../Dispatch/trusted.h"
#include "../Kernel/memory.h"
#include "../Kernel/system_call.h"
#include "task_list.h"

// A hash table with the thread ID as the key, which stores the marks of a thread (cs_reach_mark). Only threads that
// have a mark have an entry.
#define REACH_LIMIT  4096
#define REACH_PROBES 16

#define PROFILING_BIT (UINT64_C(1) << (SIGPROF - 1))

typedef struct reach_entry {
  int tid;        // atomic
  uint32_t marks; // atomic
} reach_entry;

static reach_entry entries[REACH_LIMIT];

// Returns whether `call` is one of the system calls in which most waiting threads of a server sleep. These calls never
// consume a signal, in contrast to a read of a signalfd. A SIGPROF that the thread blocks just stays pending, so the
// thread's signal mask need not be read.
static bool takes_no_signal(uint64_t call) SIGNAL_SAFE {
  return call == SYS_futex || call == SYS_recvfrom || call == SYS_recvmsg || call == SYS_accept || call == SYS_accept4;
}

// Returns whether a thread waits for SIGPROF with sigwait(). During sigwait(), the kernel unblocks the signals that the
// thread waits for. The thread's signal mask therefore does not show that the thread waits for SIGPROF.
static bool waits_for_signal(const cs_task_call *call) SIGNAL_SAFE {
  cs_memory memory = {0};
  uint64_t wanted = 0;
  if (call->number != SYS_rt_sigtimedwait) return false;
  return !cs_memory_read_word(&memory, call->arguments[0], &wanted) || (wanted & PROFILING_BIT) != 0;
}

cs_reach cs_reach_of(int tid) SIGNAL_SAFE {
  cs_task_call call = {0};
  cs_task_wait wait = {0};
  const bool is_call_known = cs_task_call_read(tid, &call);
  if (is_call_known && takes_no_signal(call.number)) return CS_REACH_OPEN;
  if (is_call_known && waits_for_signal(&call)) return CS_REACH_CLOSED;
  if (!cs_task_wait_read(tid, &wait)) return CS_REACH_OPEN;
  const bool is_asleep = wait.run_state == 'S';
  if ((wait.blocked_signals & PROFILING_BIT) != 0) return is_asleep ? CS_REACH_CLOSED : CS_REACH_BUSY;
  return !is_call_known && is_asleep && cs_task_waits_in(tid, "sigtimedwait") ? CS_REACH_CLOSED : CS_REACH_OPEN;
}

void cs_reach_mark_set(int tid, cs_reach_mark mark) SIGNAL_SAFE {
  for (uint32_t probe = 0; probe < REACH_PROBES; probe++) {
    reach_entry *entry = &entries[((uint32_t)tid + probe) % REACH_LIMIT];
    int holder = 0;
    // relaxed: if another thread reads a new mark late, it only checks this thread once more.
    if (!__atomic_compare_exchange_n(&entry->tid, &holder, tid, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) &&
        holder != tid) {
      continue;
    }
    __atomic_fetch_or(&entry->marks, (uint32_t)mark, __ATOMIC_RELAXED);
    return;
  }
}

bool cs_reach_has_mark(int tid, cs_reach_mark mark) SIGNAL_SAFE {
  for (uint32_t probe = 0; probe < REACH_PROBES; probe++) {
    const reach_entry *entry = &entries[((uint32_t)tid + probe) % REACH_LIMIT];
    const int holder = __atomic_load_n(&entry->tid, __ATOMIC_RELAXED);
    if (holder == tid) return (__atomic_load_n(&entry->marks, __ATOMIC_RELAXED) & (uint32_t)mark) != 0;
    if (holder == 0) return false;
  }
  return false;
}

void cs_reach_forget(void) SIGNAL_SAFE {
  memset(entries, 0, sizeof entries);
}

#endif
