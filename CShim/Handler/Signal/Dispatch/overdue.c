#include "cs_platform.h"

#if CS_SUPPORTED

#include "watchdog.h"

#include "../Kernel/system_call.h"
#include "../Threads/task_list.h"
#include "crasher.h"
#include "trusted.h"

#define SLEEPER_PATIENCE 3

// The watchdog's data about the crashing thread that writes to one slot of the ring.
typedef struct watched {
  uint64_t ticket;
  uint32_t ticks;    // the number of ticks (CS_TICK_MS) since the watchdog first saw that the thread writes a record
  uint32_t reminded; // the value of `ticks` at the reminder; 0: no reminder yet
  uint64_t processor_ns;
} watched;

static watched threads[CS_RING_SLOT_LIMIT]; // only the watchdog accesses it

void cs_overdue_forget(void) SIGNAL_SAFE {
  memset(threads, 0, sizeof threads);
}

// Returns the processor time of one thread, from the kernel's clock of this thread (CPUCLOCK_SCHED and
// CPUCLOCK_PERTHREAD_MASK).
static uint64_t processor_ns(int tid) SIGNAL_SAFE {
  struct timespec time = {0};
  const long clock = (long)(int)(~(unsigned)tid << 3 | 6);
  if (cs_system_call(SYS_clock_gettime, clock, (long)&time, 0, 0, 0, 0) != 0) return 0;
  return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

// Returns whether the watchdog must send the thread a reminder: the thread's own crash signal, which asks it to commit
// its record. `record_ticks` is the number of ticks in which a record should be complete.
static bool is_overdue(const watched *thread, int tid, uint32_t record_ticks) SIGNAL_SAFE {
  if (thread->ticks < record_ticks) return false;
  if (thread->ticks / SLEEPER_PATIENCE >= record_ticks) return true;
  const uint64_t used_ns = processor_ns(tid) - thread->processor_ns;
  return used_ns >= record_ticks * (uint64_t)CS_TICK_NS / 2;
}

// Returns whether the reminder is pending for the thread and not blocked by it. If so, the thread writes no more bytes
// into its record: before any other code of the thread, the kernel runs the handler of the reminder, which only commits
// the record. A thread that blocks the reminder can still write.
static bool is_on_its_way(const cs_crasher *crasher) SIGNAL_SAFE {
  cs_task_status status = {0};
  cs_task_status_read(crasher->tid, &status);
  return (status.pending_signals & ~status.blocked_signals & UINT64_C(1) << (crasher->signal - 1)) != 0;
}

static bool look_at(uint32_t index, uint32_t record_ticks) SIGNAL_SAFE {
  cs_crasher *crasher = cs_crasher_at(index);
  watched *thread = &threads[index];
  if (crasher == NULL || !cs_crasher_is_writing(crasher)) {
    thread->ticks = 0;
    return false;
  }
  if (thread->ticks == 0 || thread->ticket != crasher->ticket) {
    *thread = (watched){.ticket = crasher->ticket, .ticks = 1, .processor_ns = processor_ns(crasher->tid)};
    return false;
  }
  thread->ticks++;
  if (thread->reminded == 0) {
    if (!is_overdue(thread, crasher->tid, record_ticks)) return false;
    thread->reminded = thread->ticks;
    cs_crasher_remind(crasher);
    return false;
  }
  const bool is_time = (thread->ticks - thread->reminded) % CS_TICKS_AFTER_REMINDER == 0;
  return is_time && is_on_its_way(crasher) && cs_crasher_commit_for(crasher, false);
}

bool cs_overdue_look(uint32_t record_ticks) SIGNAL_SAFE {
  bool has_committed = false;
  for (uint32_t index = 0; index < CS_RING_SLOT_LIMIT; index++)
    has_committed = look_at(index, record_ticks) || has_committed;
  return has_committed;
}

void cs_overdue_remind_all(void) SIGNAL_SAFE {
  for (uint32_t index = 0; index < CS_RING_SLOT_LIMIT; index++) {
    cs_crasher *crasher = cs_crasher_at(index);
    // cs_crasher_remind() does nothing if the thread already got a reminder.
    if (crasher != NULL && cs_crasher_is_writing(crasher)) cs_crasher_remind(crasher);
  }
}

bool cs_overdue_commit_all(void) SIGNAL_SAFE {
  bool has_committed = false;
  for (uint32_t index = 0; index < CS_RING_SLOT_LIMIT; index++) {
    cs_crasher *crasher = cs_crasher_at(index);
    has_committed = (crasher != NULL && cs_crasher_commit_for(crasher, true)) || has_committed;
  }
  return has_committed;
}

#endif
