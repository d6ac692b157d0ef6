#include "cs_platform.h"

#if CS_SUPPORTED

#include "halt_turn.h"

#include "../Dispatch/state.h"
#include "../Dispatch/trusted.h"
#include "reach.h"
#include "sweep_turn.h"

// The processor time for which a thread that was running at the halt continues. A thread that is about to crash for the
// same reason needs less time than this.
#define TURN_NS 200000

// A hash table with the thread ID as the key. The table contains the threads that were running when the halt reached
// them. If a thread finds no free entry near its index, it halts at once.
#define TURN_LIMIT  1024
#define TURN_PROBES 16

typedef struct turn {
  int tid;       // atomic
  int is_over;   // atomic: whether the thread's processor time is used up, so that it stays in the SIGPROF handler
  uint64_t time; // the value of the thread's processor clock when it was first allowed to continue; 0: not yet
} turn;

static turn turns[TURN_LIMIT];

void cs_halt_forget_turns(void) SIGNAL_SAFE {
  memset(turns, 0, sizeof turns);
}

static turn *turn_of(int tid) SIGNAL_SAFE {
  for (uint32_t probe = 0; probe < TURN_PROBES; probe++) {
    turn *entry = &turns[((uint32_t)tid + probe) % TURN_LIMIT];
    int holder = 0;
    // relaxed, because only the thread itself changes its entry.
    if (__atomic_compare_exchange_n(&entry->tid, &holder, tid, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
        holder == tid) {
      return entry;
    }
  }
  return NULL;
}

bool cs_halt_has_had_turn(int tid) SIGNAL_SAFE {
  const uint64_t time = cs_clock_ns(CLOCK_THREAD_CPUTIME_ID);
  turn *entry = turn_of(tid);
  if (entry == NULL) return true;
  if (entry->time == 0) {
    entry->time = time | 1;
    return false;
  }
  const bool is_over = time - entry->time >= TURN_NS;
  if (is_over) __atomic_store_n(&entry->is_over, 1, __ATOMIC_RELAXED);
  return is_over;
}

void cs_halt_remind(void) SIGNAL_SAFE {
  // If the sweep has already restored the program's SIGPROF action, SIGPROF would end the process.
  if (!cs_sweep_has_signal()) return;
  for (uint32_t index = 0; index < TURN_LIMIT; index++) {
    const int tid = __atomic_load_n(&turns[index].tid, __ATOMIC_RELAXED);
    if (tid == 0 || __atomic_load_n(&turns[index].is_over, __ATOMIC_RELAXED) != 0) continue;
    if (cs_reach_of(tid) != CS_REACH_OPEN) continue;
    cs_system_call(SYS_tgkill, cs_process.pid, tid, SIGPROF, 0, 0, 0);
  }
}

#endif
