import CrashReport
import Glibc
import TestKit
import Testing

@testable import CrashDaemon

@Suite("A unit's result from systemd")
struct UnitResultTests {
  private func text(result: String = "oom-kill", pid: Int = 7, code: Int = 2, status: Int = 9) -> String {
    "Result=\(result)\nExecMainPID=\(pid)\nExecMainCode=\(code)\nExecMainStatus=\(status)\n"
  }

  @Test("systemd's result for a unit is used if it matches how the process ended")
  func taken() {
    #expect(UnitResult.read(text(), pid: 7, signal: 9) == UnitResult(word: "oom-kill"))
    #expect(UnitResult.read(text(result: "core-dump", code: 3, status: 11), pid: 7, signal: 11)?.word == "core-dump")
  }

  @Test("a unit's result is ignored for another process or end, a restarted unit, or a malformed answer")
  func notTaken() {
    let others = [
      text(pid: 8), text(code: 1), text(code: 0), text(status: 15), text(result: "success"), text(result: "a b"), "",
      "=",
      "ExecMainPID=7", String(repeating: "Result=", count: 600),
    ]
    for text in others { #expect(UnitResult.read(text, pid: 7, signal: 9) == nil, "\(text)") }
  }

  @Test("the diagnosis mentions the unit's result; a timeout of systemd is the cause")
  func causes() throws {
    var death = CrashReport.Death(signal: Int(SIGKILL), cgroup: "/a", oomKills: 0)
    death.unitResult = "signal"
    let other = SilentDeath(death, losses: [:])
    #expect(other.diagnosis.cause == "killed")
    #expect(other.diagnosis.sentence == "Killed (SIGKILL from outside); its unit's result is 'signal'.")
    death.unitResult = "timeout"
    let late = SilentDeath(death, losses: [:])
    #expect(late.diagnosis.cause == "unit-timeout" && late.diagnosis.rule == "silent-unit")
    #expect(late.diagnosis.sentence.hasPrefix("Killed by systemd: the unit did not start or stop in time"))
    #expect(late.explanation(losses: [:]).filter(\.isChosen).map(\.rule) == ["silent-unit"])
  }

  @Test(
    "without systemd, a report has no unit result",
    .enabled("systemd runs this machine") {
      unsafe access("/run/systemd/system", F_OK) != 0
    })
  func noSystemd() async {
    #expect(await UnitResult.of(unit: "x.service", pid: getpid(), signal: 9) == nil)
  }
}
