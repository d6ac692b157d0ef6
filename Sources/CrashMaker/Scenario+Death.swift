// Deaths in which no report, or only part of one, can be written.
internal import CCrashMaker
internal import CShim
internal import Glibc

extension Scenario {
  private static let noHandler = "no handler runs: needs reports of silent deaths"

  static let deaths = [
    Scenario("killed-mid-record", "SIGKILL", "", summary: "get SIGKILL in the middle of a record", dieMidRecord).with {
      $0.silence = "killed before the record is complete; the loss is counted"
    },
    c("sigkill", "SIGKILL", "get SIGKILL", cs_fault_sigkill).with { $0.lacks(noHandler) },
    c("all-signals-blocked", "SIGSEGV", "crash with all signals blocked", cs_fault_all_signals_blocked).with {
      $0.lacks(noHandler)
    },
  ]
}

private func dieMidRecord() {
  // Not started, there is no record to be in the middle of; the death is the same.
  _ = cs_testing_claim_and_abandon()
  kill(getpid(), SIGKILL)
}
