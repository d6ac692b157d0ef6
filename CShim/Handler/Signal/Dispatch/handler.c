// The crash handler. This table shows what it does for concurrent and nested crashes. A slot is the ring's space for
// one record, and to commit a record is to mark it as complete (crasher.h). A sweep samples the stacks of all other
// threads (sweep.h).
//
// clang-format off
// | situation                                        | what happens                                                  |
// |--------------------------------------------------|---------------------------------------------------------------|
// | A second thread crashes.                         | It gets its own slot and record. Both threads wait for each   |
// |                                                  | other, at most about 1 s, and then leave the handler. Threads |
// |                                                  | that ran during the sweep get time to crash, too (others.c).  |
// | The process certainly ends.                      | The other threads halt where the sweep has found them         |
// |                                                  | (halt.c).                                                     |
// | 65 threads crash at once.                        | The last one gets no slot. It increments slot_lost, wakes     |
// |                                                  | crashd, and waits for the other threads.                      |
// | The handler crashes.                             | It commits the partial record as minimal. The default action  |
// |                                                  | then applies, with the context of the first crash.            |
// | The handler crashes again.                       | The default action applies, and the record stays as it is.    |
// | A signal is sent to a thread in the handler.     | The signal is dropped, because the process ends by the first  |
// |                                                  | signal of the thread.                                         |
// | A thread stalls while it writes its record.      | The watchdog sends the signal of the crash again, as a        |
// |                                                  | reminder. The thread then commits the partial record, and     |
// |                                                  | continues as after a complete one.                            |
// | A thread never leaves the handler.               | Other crashing threads wait for it about 1 s, and then end    |
// |                                                  | the process. If there are none, the watchdog ends the process |
// |                                                  | at the deadline (watchdog.h).                                 |
// | A program's handler, installed before ours,      | This is not a crash, and the record is withdrawn              |
// | recovers from the fault.                         | (first_chance.c).                                             |
// | A program's handler, installed before ours,      | Our handler records a crash, and re-raises the signal for the |
// | receives a sent signal, or also handles SIGABRT. | program's handler. If the program continues, the next crash   |
// |                                                  | gets its own sweep.                                           |
// | A handler, installed after ours, calls ours      | Our handler stays installed, and re-raises the signal to      |
// | without siginfo.                                 | itself.                                                       |
// | A thread faults while it answers a sweep.        | It waits at most 5 s until the process ends, and gets no      |
// |                                                  | record of its own.                                            |
// | Contained work traps.                            | Only its thread stops forever (containment.c).                |
// | Swift code traps while containment is on.        | The thread stops forever, or until the process has finished   |
// |                                                  | its requests (judge.h, drain.h).                              |
// | A thread accesses a freed guard page slot.       | Under the policy absorb, this is not a crash, also not in a   |
// |                                                  | forked child.                                                 |
// | A forked child crashes.                          | The previous action applies, and no record is written.        |
// | A child of vfork or clone(CLONE_VM) crashes.     | As for a forked child: no record is written, because the ring |
// |                                                  | in the shared memory belongs to the parent.                   |
// clang-format on
//
// The handler need not save errno, because it calls only functions that do not set errno (system_call.h).
#include "cs_platform.h"

#if CS_SUPPORTED

#include "../Capture/capture.h"
#include "../Capture/registers.h"
#include "../Containment/containment.h"
#include "../Containment/drain.h"
#include "../Containment/judge.h"
#include "../Containment/waiter.h"
#include "../Deliver/deliver.h"
#include "../FaultInjection/fault_injection.h"
#include "../FirstChance/first_chance.h"
#include "../FirstChance/signal_frame.h"
#include "../Kernel/descriptors.h"
#include "../Kernel/privilege.h"
#include "../Lines/lines.h"
#include "../Threads/halt.h"
#include "../Threads/own_threads.h"
#include "../Threads/sweep_answer.h"
#include "../Threads/sweep_turn.h"
#include "crasher.h"
#include "finish.h"
#include "hooks.h"
#include "others.h"
#include "replaced_handlers.h"
#include "state.h"
#include "trusted.h"
#include "watch.h"

// A thread that faulted while it answered a sweep waits at most 5 s (25 × 200 ms) until the first crash ends the
// process.
#define END_TRIES    25
#define END_SLEEP_NS 200000000

// Returns whether the kernel called the handler. If not, the program called it, with only the signal number: signal()
// returns the address of the handler that it replaces, and the program can call that handler.
static bool is_from_kernel(int signal, const siginfo_t *information, const ucontext_t *context) SIGNAL_SAFE {
  const uint64_t from = (uint64_t)(uintptr_t)information;
  return cs_memory_is_readable(from) && cs_memory_is_readable(from + sizeof *information - sizeof(uint64_t)) &&
         information->si_signo == signal && cs_context_is_readable(context);
}

// Returns whether the signal was sent to a program that ignores it, which is not a crash. An exception is abort(),
// which always is a crash.
static bool is_ignored(int signal, const siginfo_t *information) SIGNAL_SAFE {
  if (information->si_code > 0 || cs_process.previous[signal].handler != SIG_IGN) return false;
  return signal != SIGABRT || information->si_pid != cs_process.pid;
}

// Unblocks SIGSEGV, SIGBUS and the crash's own signal. If a fault occurs while its signal is blocked, the kernel ends
// the process at once. The crash's own signal is also the watchdog's reminder. They can be blocked, because another
// handler that blocks them can have called ours. Returns the previous signal mask.
static uint64_t open_signals(int signal) SIGNAL_SAFE {
  const uint64_t wanted = UINT64_C(1) << (signal - 1) | UINT64_C(1) << (SIGSEGV - 1) | UINT64_C(1) << (SIGBUS - 1);
  uint64_t before = 0;
  cs_system_call(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&wanted, (long)&before, CS_KERNEL_SIGNAL_SET_BYTES, 0, 0);
  return before;
}

static void deliver_and_wait(cs_crasher *crasher) SIGNAL_SAFE {
  cs_deliver();
  crasher->is_counted = false;
  cs_others_wait();
}

// Leaves the handler. `crasher` may be NULL. Returns true if the signal's previous action then ends the process.
// Precondition: the caller has already called cs_lines_write(), which needs unblocked crash signals and the watchdog's
// supervision.
static bool leave(cs_crasher *crasher, int signal, const siginfo_t *information) SIGNAL_SAFE {
  const bool ends = cs_capture_is_end(signal, information);
  cs_sweep_leave(signal, ends);
  cs_watch_leave();
  cs_replaced_handler_give_back(signal);
  cs_finish(signal, information);
  if (crasher != NULL) cs_crasher_release(crasher);
  return ends;
}

// Stays in the handler until the end of the drain (drain.h). The caller then leaves the handler, and the trap ends the
// process: the thread executes the instruction again, with the signal's previous action.
static void stay_for_drain(cs_park *park, const siginfo_t *information) SIGNAL_SAFE {
  cs_watch_leave();
  cs_park_command command = CS_PARK_WAIT;
  while (command != CS_PARK_LEAVE)
    command = cs_park_stay(park, command);
  cs_watch_enter(information);
  // The ring now contains the end of the drain, so crashd is notified and a spool file is written again.
  cs_deliver();
  cs_deliver_copy();
  cs_park_give_back(park);
}

// Handles another signal of a thread that is already in the handler. If the signal is a fault, the handler itself has
// crashed. A signal that was sent can be the watchdog's reminder. In both cases, the handler returns to the context of
// the first crash: core dumps and the program's handlers need its registers, and in the first process of a pid
// namespace, only a repeated fault ends the process.
static void crash_again(cs_crasher *crasher, int signal, const siginfo_t *information,
                        ucontext_t *context) SIGNAL_SAFE {
  const bool is_sent = information->si_code <= 0;
  if (is_sent && !cs_crasher_takes_reminder(crasher)) return;
  cs_park *const park = cs_park_of(crasher->tid); // NULL, except for a trap that begins a drain or occurs during one
  // After a crash inside our handler, the program's own handler, which could have resolved the first fault
  // (first_chance.c), does not run. The first fault therefore counts as a crash.
  crasher->is_pending = false;
  crasher->depth++;
  if (!crasher->is_watched) {
    crasher->is_watched = true;
    cs_watch_enter(&crasher->information);
  }
  if (crasher->depth == 1 && crasher->is_counted) {
    cs_crasher_commit_as(crasher, CS_RING_RECORD_MINIMAL | (is_sent ? CS_RING_RECORD_LATE : 0));
    const bool ends_here = !is_sent || (park == NULL && cs_capture_is_end(crasher->signal, &crasher->information));
    if (ends_here && cs_halt_begin()) cs_others_halt();
    // A fault inside the handler always ends the process. The thread gets its own descriptor table only after the
    // commit, because the commit is more important.
    if (!is_sent && !crasher->has_own_table) crasher->has_own_table = cs_descriptors_separate();
    deliver_and_wait(crasher);
  }
  const ucontext_t *first = crasher->context;
  bool ends = true;
  if (is_sent) {
    if (park != NULL) stay_for_drain(park, &crasher->information);
    cs_lines_write();
    ends = leave(crasher, crasher->signal, &crasher->information);
  } else {
    if (crasher->depth == 1) cs_lines_write();
    if (signal != crasher->signal) cs_finish_here_by_default(signal);
    cs_finish_by_default(crasher->signal, &crasher->information);
  }
  cs_context_copy(first, context);
  cs_finish_repeat(crasher->signal, &crasher->information, context);
  if (ends) cs_halt_exempt(context);
}

// Handles a fault of a thread that answers a sweep, that is, records its stack for another thread's crash. This fault
// must not be recorded as a second crash. The thread waits at most 5 s until the first crash ends the process.
static void wait_for_end(int signal, const siginfo_t *information) SIGNAL_SAFE {
  for (int attempt = 0; attempt < END_TRIES; attempt++)
    cs_sleep_ns(END_SLEEP_NS);
  cs_finish_by_default(signal, information);
}

static void note_judgement(cs_ring_record *record, const cs_judgement *judgement) SIGNAL_SAFE {
  record->verdict = judgement->verdict;
  record->verdict_reason = judgement->reason;
  if (judgement->verdict != CS_RING_VERDICT_DRAIN) return;
  // The incident of a contained trap already has the message. The record gets it, too, if the process ends by this
  // trap.
  const cs_contained_message *message = &judgement->park->message;
  record->message_bytes = message->bytes;
  memcpy(record->message, message->text, message->bytes);
  cs_drain_note_record(judgement->park, record->sequence);
}

static void crash(int tid, siginfo_t *information, ucontext_t *context, uint64_t entry_ns,
                  const cs_judgement *judgement) SIGNAL_SAFE {
  const int signal = information->si_signo;
  const bool drains = judgement->verdict == CS_RING_VERDICT_DRAIN;
  if (!drains) cs_drain_note_crash(information->si_code > 0 || signal == SIGABRT);
  const uint64_t mask = open_signals(signal);
  cs_others_enter(information, context);
  cs_first_chance_is_crash(tid, context);
  cs_privilege_note();
  const cs_cause cause = cs_first_chance_cause(tid, information, context);
  cs_crasher *crasher = cs_crasher_claim(tid, signal, information, context);
  if (crasher != NULL) {
    cs_crasher_take_sequence(crasher, cause.sequence);
    note_judgement(&crasher->slot->record, judgement);
    cs_capture(crasher, cause.information, context, entry_ns);
  }
  // A thread that parks keeps the descriptor table of the process. A table of its own would keep files open that the
  // program closes during the drain.
  if (!drains) cs_capture_take_descriptors(signal, information, crasher);
  cs_replaced_handlers_note();
  cs_inject_here(CS_INJECT_DELIVERY);
  cs_deliver();
  if (crasher != NULL) crasher->is_counted = false;
  cs_inject_here(CS_INJECT_SWEEP);
  if (drains) {
    cs_others_sweep();
  } else {
    cs_others_sweep_and_halt(signal, information);
  }
  cs_others_wait();
  if (drains) stay_for_drain(judgement->park, information);
  cs_lines_write();
  cs_sigmask(SIG_SETMASK, &mask);
  const bool ends = leave(crasher, signal, information);
  cs_finish_repeat(signal, information, context);
  if (ends) cs_halt_exempt(context);
}

// Returns whether the signal is not a crash, or is already handled.
static bool is_settled(int signal, siginfo_t *information, ucontext_t *context, int tid) SIGNAL_SAFE {
  if (cs_waiter_takes(tid, signal, information, context)) return true;
  if (cs_own_passes_on(signal, information, context)) return true;
  cs_crasher *again = cs_crasher_of(tid);
  if (again != NULL) {
    crash_again(again, signal, information, context);
    return true;
  }
  if (is_ignored(signal, information)) return true;
  if (cs_judge_takes_fault(tid, information, context)) return true;
  if (cs_containment_takes(signal, information, context)) return true;
  if (!cs_sweep_is_answering(tid)) return false;
  wait_for_end(signal, information);
  return true;
}

cs_signal_call cs_handle(int signal, siginfo_t *information, void *context, const void *called_at) SIGNAL_SAFE {
  const cs_signal_call none = {0};
  const uint64_t entry_ns = cs_clock_ns(CLOCK_MONOTONIC);
  if (!is_from_kernel(signal, information, context)) {
    cs_finish_anew(signal);
    return none;
  }
  if (cs_recover_fault(signal, information, context)) return none;
  if (cs_getpid() != cs_process.pid) {
    cs_finish(signal, information);
    return none;
  }
  const int tid = cs_gettid();
  if (is_settled(signal, information, context, tid)) return none;
  cs_judgement judgement = cs_judge(tid, signal, information, context);
  if (judgement.verdict == CS_RING_VERDICT_CONTAIN) {
    // This call returns only if the process must drain because of this trap.
    cs_park_stay(judgement.park, CS_PARK_WAIT);
    judgement.verdict = CS_RING_VERDICT_DRAIN;
    judgement.reason = judgement.park->reason;
  }
  if (judgement.verdict == CS_RING_VERDICT_DRAIN) {
    crash(tid, information, context, entry_ns, &judgement);
    return none;
  }
  if (cs_first_chance_is_given(signal, information)) {
    const cs_signal_call call = cs_first_chance(tid, information, context, called_at, entry_ns);
    if (call.frame != NULL) return call;
  }
  crash(tid, information, context, entry_ns, &judgement);
  return none;
}

#endif
