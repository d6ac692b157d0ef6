// Scenarios in which the process ends without a crash record, or with an incomplete record.
internal import CCrashMaker
internal import CShim
internal import Glibc

extension Scenario {
  static let deaths = [
    Scenario("killed-mid-record", "SIGKILL", "", summary: "get SIGKILL in the middle of a record", dieMidRecord)
      .silent(),
    c("sigkill", "SIGKILL", "get SIGKILL", cs_fault_sigkill).silent(),
    c("sigkill-with-child", "SIGKILL", "get SIGKILL while a child has all descriptors", cs_fault_sigkill_with_child)
      .silent(),
    c("exec-and-stay", "", "become another program that reads to the end of its input", cs_fault_exec_and_stay).with {
      $0.silence = "nothing crashes"
    },
    c("exec-with-child", "", "execute a program while a child has all descriptors", cs_fault_exec_with_child).with {
      $0.silence = "nothing crashes"
    },
    c(
      "exec-again-with-child", "SIGKILL", "become a program that gets SIGKILL while a child has all descriptors",
      cs_fault_exec_again_with_child
    ).silent(),
    c("all-signals-blocked", "SIGSEGV", "crash with all signals blocked", cs_fault_all_signals_blocked).silent(),
    c("oom-kill", "SIGKILL", "need more memory than there is", cs_fault_oom_kill).silent().with {
      $0.needsMemoryLimit = true
    },
  ]

  /// Marks that the process ends without running a signal handler.
  private func silent() -> Scenario {
    with {
      $0.isSilentDeath = true
      $0.function = ""
      $0.crashedCount = 0
      $0.withoutDebugger = "the report has no stack that could be compared"
    }
  }
}

private func dieMidRecord() {
  // Begin a record and do not finish it. If the shield did not start, the call does nothing, but the process ends in
  // the same way.
  _ = cs_testing_claim_and_abandon()
  kill(getpid(), SIGKILL)
}
