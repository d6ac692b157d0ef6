// Deaths in which no report, or only part of one, can be written.
internal import CShim
internal import Glibc

extension Scenario {
  static let deaths = [
    Scenario(
      "killed-mid-record", "SIGKILL", "", summary: "get SIGKILL in the middle of a record", isReported: false,
      dieMidRecord)
  ]
}

private func dieMidRecord() {
  // Not started, there is no record to be in the middle of; the death is the same.
  _ = cs_testing_claim_and_abandon()
  kill(getpid(), SIGKILL)
}
