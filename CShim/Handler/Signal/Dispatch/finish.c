#include "cs_platform.h"

#if CS_SUPPORTED

#include "finish.h"

#include "../Capture/registers.h"
#include "replaced_handlers.h"
#include "state.h"
#include "trusted.h"

#define FIRST_PROCESS 1

// Returns whether the same signal occurs again if the thread continues at the pc. A signal that was sent does not, and
// three signals of the kernel do not either: SIGTRAP on x86-64, because the pc is past the int3 instruction (on
// AArch64, it stays at the brk instruction); SIGSYS, because the pc is past the system call; and a memory error that
// the kernel found in the background (BUS_MCEERR_AO), because no instruction caused it.
static bool happens_again(int signal, int code) SIGNAL_SAFE {
  if (code <= 0) return false;
  if (signal == CS_TRAP_SIGNAL && code == CS_TRAP_CODE) return true;
  switch (signal) {
  case SIGSEGV:
  case SIGILL:
  case SIGFPE:
    return true;
  case SIGBUS:
    return code != BUS_MCEERR_AO;
  default:
    return false;
  }
}

// Blocks all signals and sends the signal to this thread, where it stays pending until the handler returns and the
// kernel restores the mask. The kernel then delivers it with the original registers, so that a core dump or the next
// handler shows the crash, and not our handler.
static void queue(int signal, const siginfo_t *information) SIGNAL_SAFE {
  const uint64_t all = ~UINT64_C(0);
  const int pid = cs_getpid();
  const int tid = cs_gettid();
  cs_sigmask(SIG_SETMASK, &all);
  // The kernel refuses to queue the siginfo if the queue of signals is full. A seccomp filter can also refuse the call.
  // The signal is then sent without its siginfo.
  if (cs_queue_signal(pid, tid, signal, information) != 0) cs_system_call(SYS_tgkill, pid, tid, signal, 0, 0, 0);
}

void cs_finish(int signal, const siginfo_t *information) SIGNAL_SAFE {
  cs_sigaction(signal, &cs_process.previous[signal], NULL);
  if (!happens_again(signal, information->si_code)) queue(signal, information);
}

void cs_finish_repeat(int signal, const siginfo_t *information, ucontext_t *context) SIGNAL_SAFE {
  const bool is_dropped = cs_process.pid == FIRST_PROCESS && cs_process.previous[signal].handler == SIG_DFL;
  if (is_dropped && information->si_code > 0 && !happens_again(signal, information->si_code))
    cs_context_repeat(signal, context);
}

// A fault whose signal is ignored (SIG_IGN) ends the process too. In the first process of a pid namespace, the kernel
// drops a signal with the default action that the process sends to itself.
bool cs_finish_is_end(int signal, const siginfo_t *information) SIGNAL_SAFE {
  const bool is_default = cs_process.previous[signal].handler == SIG_DFL;
  const bool is_ignored = cs_process.previous[signal].handler == SIG_IGN;
  if (happens_again(signal, information->si_code)) return is_default || is_ignored;
  return is_default && cs_process.pid != FIRST_PROCESS;
}

void cs_finish_anew(int signal) SIGNAL_SAFE {
  siginfo_t information;
  memset(&information, 0, sizeof information);
  information.si_signo = signal;
  information.si_code = SI_TKILL;
  information.si_pid = cs_getpid();
  cs_sigaction(signal, &cs_process.own, NULL);
  // The signal's code is not known. If it is the trap signal, a trap of Swift is the most probable cause.
  const int code = signal == CS_TRAP_SIGNAL ? CS_TRAP_CODE : SI_KERNEL;
  if (!happens_again(signal, code)) queue(signal, &information);
}

void cs_finish_here_by_default(int signal) SIGNAL_SAFE {
  const cs_kernel_action action = {0};
  cs_replaced_handler_give_back(signal);
  cs_sigaction(signal, &action, NULL);
}

void cs_finish_by_default(int signal, const siginfo_t *information) SIGNAL_SAFE {
  cs_finish_here_by_default(signal);
  queue(signal, information);
}

void cs_finish_at_once(const siginfo_t *information) SIGNAL_SAFE {
  const int signal = information->si_signo;
  const uint64_t only = UINT64_C(1) << (signal - 1);
  cs_finish_by_default(signal, information);
  cs_sigmask(SIG_UNBLOCK, &only);
  // In the first process of a pid namespace, the kernel drops signals that the process sends to itself. The kernel does
  // not drop the signal of a fault, so this function causes a fault to end the process.
  __builtin_trap();
}

#endif
