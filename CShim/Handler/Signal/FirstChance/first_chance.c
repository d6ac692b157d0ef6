// Handles a fault for which the program installed a handler before the start of the shield. A pending record can be
// withdrawn (chance.h).
//
// clang-format off
// | what the program's handler does                | what the shield does                                            |
// |------------------------------------------------|-----------------------------------------------------------------|
// | It returns.                                    | The record is withdrawn, and the thread executes the            |
// |                                                | instruction again.                                              |
// | It installs the default action or itself,      | The new action becomes our previous action, and our handler is  |
// | in place of our handler.                       | installed again.                                                |
// | It was installed for one call (SA_RESETHAND).  | The default action becomes our previous action.                 |
// | It returns, and the thread sends the signal    | The signal is a crash, with the registers and the address of    |
// | again.                                         | the fault.                                                      |
// | It returns for LOOP_NS without repairing the   | The fault is a crash. It is captured before the program's       |
// | fault.                                         | action is restored.                                             |
// | It calls abort(), or faults.                   | This is a second crash, which includes the pending record.      |
// | It ends the process.                           | crashd reads the pending record from the ring when the          |
// |                                                | connection ends.                                                |
// | It is left by siglongjmp().                    | The record is withdrawn at the thread's next fault, at exit(),  |
// |                                                | or when the watchdog checks the thread's stack pointer.         |
// | It has not returned at the watchdog's          | The fault is a crash, and is delivered to crashd.               |
// | deadline.                                      |                                                                 |
// | It is also the handler of SIGABRT.             | It gets no first chance, because it reports crashes. Our        |
// |                                                | handler captures the crash first.                               |
// clang-format on
//
// If the program's handler has never returned before, it may end the process. The shield therefore writes a complete
// record before it calls that handler, and a spool file if crashd cannot be reached. If the handler has returned
// before, the record contains only the signal, the registers and the pc, which takes some microseconds.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "first_chance.h"

#include "../Capture/capture.h"
#include "../Capture/record.h"
#include "../Capture/registers.h"
#include "../Deliver/deliver.h"
#include "../Dispatch/crasher.h"
#include "../Dispatch/replaced_handlers.h"
#include "../Dispatch/state.h"
#include "../Dispatch/trusted.h"
#include "../Dispatch/watch.h"
#include "../Kernel/privilege.h"
#include "../Threads/sweep_turn.h"
#include "chance.h"
#include "signal_frame.h"

// The time for which the program's handler is allowed to return repeatedly without repairing the fault. Another thread
// can be about to repair it.
#define LOOP_NS UINT64_C(1000000000)

// If the same fault occurs again after this time (10 s), it counts as a new fault.
#define LOOP_PAUSE_NS UINT64_C(10000000000)

bool cs_first_chance_is_given(int signal, const siginfo_t *information) SIGNAL_SAFE {
  if (information->si_code <= 0) return false;
  void (*const handler)(int) = cs_process.previous[signal].handler;
  if (handler == SIG_DFL || handler == SIG_IGN) return false;
  return handler != cs_process.previous[SIGABRT].handler;
}

// Returns whether the thread has executed no instruction between the return of the handler and this fault, which is
// then the same fault. This is the case if all registers are equal.
static bool is_again(const cs_chance *entry, const siginfo_t *information, const ucontext_t *context) SIGNAL_SAFE {
  return entry->information.si_signo == information->si_signo &&
         entry->address == (uint64_t)(uintptr_t)information->si_addr &&
         cs_signal_frame_is_equal(&entry->context, context);
}

static void write_record(cs_chance *entry, int tid, const siginfo_t *information, ucontext_t *context,
                         uint64_t entry_ns) SIGNAL_SAFE {
  const bool is_short = cs_chance_has_returned(information->si_signo);
  // Like the crash handler at a crash: if the program survived an earlier crash, this fault can get its own sweep
  // (sweep.h).
  if (!is_short && cs_watch_enter(information)) cs_sweep_renew(context);
  cs_privilege_note();
  // Sequentially consistent, as in cs_others_enter(). While `busy_count` includes this thread, other crashing threads
  // wait for it in cs_others_wait().
  __atomic_fetch_add(&cs_process.busy_count, 1, __ATOMIC_SEQ_CST);
  cs_crasher *crasher = cs_crasher_claim_pending(tid, information, context, !is_short);
  if (crasher != NULL && is_short) {
    cs_record_signal(&crasher->slot->record, tid, information, context, entry_ns);
    cs_crasher_commit(crasher);
  } else if (crasher != NULL) {
    cs_capture(crasher, information, context, entry_ns);
  }
  if (crasher != NULL) {
    entry->pending = cs_crasher_pending(crasher);
    crasher->is_counted = false;
    cs_crasher_release(crasher);
  }
  __atomic_fetch_sub(&cs_process.busy_count, 1, __ATOMIC_SEQ_CST);
  if (is_short) return;
  cs_chance_spool(entry);
  cs_watch_leave();
}

static void fill(cs_chance *entry, int tid, const siginfo_t *information, const ucontext_t *context) SIGNAL_SAFE {
  entry->tid = tid;
  entry->address = (uint64_t)(uintptr_t)information->si_addr;
  entry->pending = (cs_pending){.ticket = UINT64_MAX};
  entry->information = *information;
  cs_context_copy(context, &entry->context);
  entry->is_spooled = entry->is_repaired = false;
}

// Sets the signal mask with which the kernel would call a handler with this action. The mask can include SIGKILL and
// SIGSTOP, because the kernel ignores these bits.
static void set_mask(int signal, const cs_kernel_action *action, const ucontext_t *context) SIGNAL_SAFE {
  uint64_t mask = 0;
  memcpy(&mask, &context->uc_sigmask, sizeof mask);
  mask |= action->mask;
  if ((action->flags & SA_NODEFER) == 0) mask |= UINT64_C(1) << (signal - 1);
  cs_sigmask(SIG_SETMASK, &mask);
}

cs_signal_call cs_first_chance(int tid, siginfo_t *information, ucontext_t *context, const void *called_at,
                               uint64_t entry_ns) SIGNAL_SAFE {
  const int signal = information->si_signo;
  const cs_kernel_action action = cs_process.previous[signal];
  const cs_signal_call none = {0};
  cs_signal_frame *frame = cs_signal_frame_of(information, context, called_at);
  cs_chance_withdraw_left(tid, context);
  cs_chance *entry = cs_chance_returned(tid);
  const bool is_same =
      entry != NULL && is_again(entry, information, context) && entry_ns - entry->call_ns < LOOP_PAUSE_NS;
  const bool is_loop = is_same && entry->loop_ns != 0 && !entry->is_repaired;
  const uint64_t loop_ns = is_loop ? entry->loop_ns : is_same ? entry_ns : 0;
  if (frame == NULL || (is_loop && entry_ns - loop_ns >= LOOP_NS)) return none;
  // A handler that was installed after ours can call ours by a tail call. After a tail call, our handler has the same
  // arguments and stack pointer as after a call by the kernel.
  if (cs_handler_is_replaced(signal)) return none;
  // Another thread can have restored the default action since the fault.
  if (action.handler == SIG_DFL || action.handler == SIG_IGN) return none;
  const bool moves = (action.flags & SA_ONSTACK) == 0 && cs_signal_frame_has_changed_stack(frame);
  cs_signal_frame *place = moves ? cs_signal_frame_move(frame) : frame;
  // If the stack has no space for the frame, the program's handler is not called. Without the shield, the kernel would
  // end the process in this case.
  if (place == NULL) return none;
  entry = cs_chance_take(tid, entry);
  if (entry != NULL) {
    fill(entry, tid, information, context);
    entry->call_ns = entry_ns;
    entry->loop_ns = loop_ns;
    entry->frame = (uint64_t)(uintptr_t)place;
    entry->is_deferred = (action.flags & SA_NODEFER) == 0;
    write_record(entry, tid, information, context, entry_ns);
  }
  const cs_signal_call call = cs_signal_frame_call(place, action.handler);
  if (entry != NULL) cs_chance_run(entry);
  if ((action.flags & SA_RESETHAND) != 0) {
    __atomic_store_n(&cs_process.previous[signal].handler, SIG_DFL, __ATOMIC_RELAXED);
  }
  return call;
}

// Sets the signal mask with which the program's handler runs. Signals that were blocked during our handler are
// delivered now. Their handlers run on the same stack as without the shield.
void cs_signal_frame_entered(cs_signal_frame *frame) SIGNAL_SAFE {
  const int signal = cs_signal_frame_information(frame)->si_signo;
  const cs_kernel_action action = cs_process.previous[signal];
  set_mask(signal, &action, cs_signal_frame_context(frame));
}

// Installs our handler again if the program's handler has set the default action or has installed itself. Some handlers
// do this each time they run. A different handler stays installed: another thread can have installed it, and it can
// call ours.
static void adopt(int signal) SIGNAL_SAFE {
  cs_kernel_action present = {0};
  if (cs_sigaction(signal, NULL, &present) != 0 || present.handler == cs_process.own.handler) return;
  // If a crash on another thread has restored the previous action to end the process, our handler must not be installed
  // again.
  const uint64_t given_back = __atomic_load_n(&cs_process.given_back, __ATOMIC_SEQ_CST);
  if ((given_back & UINT64_C(1) << signal) != 0) return;
  const bool is_without = present.handler == SIG_DFL || present.handler == SIG_IGN;
  if (!is_without && present.handler != cs_process.previous[signal].handler) return;
  __atomic_store_n(&cs_process.previous[signal].handler, present.handler, __ATOMIC_RELAXED);
  cs_sigaction(signal, &cs_process.own, NULL);
}

// This function runs on the stack on which the program's handler ran, and with the signal mask of that handler.
void cs_signal_frame_returned(cs_signal_frame *frame) SIGNAL_SAFE {
  cs_chance *entry = cs_chance_settle(cs_gettid(), (uint64_t)(uintptr_t)frame);
  if (entry == NULL) {
    adopt(cs_signal_frame_information(frame)->si_signo);
    return;
  }
  const ucontext_t *context = cs_signal_frame_context(frame);
  const int signal = entry->information.si_signo;
  if (entry->loop_ns != 0) {
    entry->is_repaired = !cs_signal_frame_is_equal(&entry->context, context) ||
                         cs_signal_frame_is_repaired(&entry->information, context);
  }
  cs_chance_withdraw(entry, true);
  adopt(signal);
}

void cs_first_chance_is_crash(int tid, const ucontext_t *context) SIGNAL_SAFE {
  cs_chance_withdraw_left(tid, context);
  cs_chance_commit(tid);
}

cs_cause cs_first_chance_cause(int tid, const siginfo_t *information, const ucontext_t *context) SIGNAL_SAFE {
  const cs_cause plain = {information, UINT64_MAX};
  const cs_chance *entry = cs_chance_returned(tid);
  const bool is_own = information->si_code > 0 || information->si_pid == cs_process.pid;
  if (entry == NULL || !is_own || entry->information.si_signo != information->si_signo) return plain;
  return cs_signal_frame_is_equal(&entry->context, context) ? (cs_cause){&entry->information, entry->pending.ticket}
                                                            : plain;
}

#endif
