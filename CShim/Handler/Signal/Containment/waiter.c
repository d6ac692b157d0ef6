#include "cs_platform.h"

#if CS_SUPPORTED

#include "waiter.h"

#include <linux/futex.h>

#include "../../Setup/Containment/pool.h"
#include "../Dispatch/state.h"
#include "../Dispatch/trusted.h"
#include "contained_request.h"
#include "drain.h"
#include "judge.h"
#include "loops.h"

// glibc's mutex: { int lock; unsigned count; int owner; … }. The field `lock` is 2 while threads wait for the mutex.
#define MUTEX_OWNER_OFFSET 8
#define MUTEX_CONTENDED    2

// The shield's signal to a waiting thread: SIGILL with the code SI_QUEUE and the address of this variable as its value.
// SIGILL is used because Dispatch's threads, and those of the pool, block most other signals.
static char mark;

// Reads 32 bits of memory that another thread uses. Another thread can unmap the page at any time, so the kernel makes
// the copy.
static bool read_half(uint64_t address, uint32_t *ret_value) SIGNAL_SAFE {
  const struct iovec local = {ret_value, sizeof *ret_value};
  const struct iovec remote = {(void *)(uintptr_t)address, sizeof *ret_value};
  return (address & 3) == 0 && cs_process_vm_readv(cs_getpid(), &local, &remote) == (long)sizeof *ret_value;
}

// Two kinds of locks show their owner. Swift's Mutex and the locks of lazy globals and tasks are futexes with priority
// inheritance, whose word contains the owner's ID. glibc's mutex has a field for the owner.
int cs_waiter_owner(uint64_t word, uint64_t operation, uint64_t value, uint64_t time_limit) SIGNAL_SAFE {
  const uint64_t kind = operation & FUTEX_CMD_MASK;
  const bool has_priority = kind == FUTEX_LOCK_PI || kind == FUTEX_LOCK_PI2;
  const bool is_mutex = kind == FUTEX_WAIT && (uint32_t)value == MUTEX_CONTENDED;
  uint32_t lock = 0, owner = 0;
  // Waits with a time limit are ignored, because they end at this limit.
  if (time_limit != 0 || (!has_priority && !is_mutex) || !read_half(word, &lock)) return 0;
  if (has_priority) return (int)(lock & FUTEX_TID_MASK);
  return lock == MUTEX_CONTENDED && read_half(word + MUTEX_OWNER_OFFSET, &owner) ? (int)(owner & FUTEX_TID_MASK) : 0;
}

void cs_waiter_send(int tid) SIGNAL_SAFE {
  siginfo_t information = {.si_signo = SIGILL, .si_code = SI_QUEUE};
  information.si_pid = cs_process.pid;
  information.si_value.sival_ptr = &mark;
  cs_queue_signal(cs_process.pid, tid, SIGILL, &information);
}

static bool is_ours(int signal, const siginfo_t *information) SIGNAL_SAFE {
  return signal == SIGILL && information->si_code == SI_QUEUE && information->si_pid == cs_process.pid &&
         information->si_value.sival_ptr == &mark;
}

// Returns the entry of the parked thread for which the interrupted code waits, or NULL. The thread of the answers has
// found such a wait before it sent the signal, but the code can wait for another lock by now, or for none.
static cs_park *owner_here(const ucontext_t *context) SIGNAL_SAFE {
  uint64_t arguments[CS_CALL_ARGUMENT_COUNT];
  if (!cs_context_shows_call(context, SYS_futex, arguments)) return NULL;
  const int owner = cs_waiter_owner(arguments[0], arguments[1], arguments[2], arguments[3]);
  return owner > 0 ? cs_park_of(owner) : NULL;
}

static void stay(int tid, cs_park *owner, ucontext_t *context) SIGNAL_SAFE {
  cs_park *const park = cs_park_take(tid);
  if (park == NULL) return;
  park->context = context;
  const cs_request_found request = cs_contained_request_find();
  park->is_waiter = true;
  park->handle = request.handle;
  park->seat = cs_seat_here();
  park->is_worker = request.has_task || park->seat != NULL;
  park->is_loop = cs_loop_is_here();
  park->verdict = CS_RING_VERDICT_DRAIN;
  park->reason = CS_RING_VERDICT_REASON_WAITS;
  // If the owner's trap was contained, the process drains from now on, and the owner writes a crash record.
  if (!owner->is_waiter) cs_drain_begin_by(owner, CS_RING_VERDICT_REASON_WAITS);
  park->must_answer = cs_contained_request_trap(park->handle, true);
  if (park->seat != NULL) cs_seat_park(park->seat);
  cs_park_tell(park);
  for (;;)
    cs_park_stay(park, (cs_park_command)__atomic_load_n(&park->command, __ATOMIC_RELAXED));
}

bool cs_waiter_takes(int tid, int signal, const siginfo_t *information, ucontext_t *context) SIGNAL_SAFE {
  if (!is_ours(signal, information)) return false;
  cs_park *const owner = owner_here(context);
  if (owner != NULL) stay(tid, owner, context);
  return true;
}

#endif
