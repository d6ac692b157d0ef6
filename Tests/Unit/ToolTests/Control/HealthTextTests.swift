import CrashProtocol
import Testing

@testable import CrashControl

@Suite("Health of builds as text")
struct HealthTextTests {
  private func build(
    _ id: String, release: String?, crashes: Int = 0, hours: Double = 100, requests: BuildHealth.Requests? = nil,
    program: String = "shop"
  ) -> BuildHealth {
    var build = BuildHealth(
      uid: 1_000, program: program, build: id, release: release, environment: nil,
      firstSeen: "2026-11-21T08:00:00.000000Z", lastSeen: "2026-11-21T09:00:00.000000Z")
    (build.crashes, build.processSeconds, build.requests, build.running) = (crashes, hours * 3_600, requests, 2)
    if hours > 0 {
      let rate = Double(crashes) / hours * 1_000
      (build.crashesPerThousandHours, build.rateLower, build.rateUpper) = (rate, rate / 2, rate * 2)
    }
    return build
  }

  private func verdict(_ isWorse: Bool, expected: Double? = 0.042, measure: String = "requests") -> BuildVerdict {
    BuildVerdict(
      build: "bb", against: "aa", isWorse: isWorse, evidence: isWorse ? 3_512 : 0.71, threshold: 100, measure: measure,
      newCrashes: isWorse ? 6 : 1, oldCrashes: 3, expectedCrashes: expected)
  }

  @Test("a lost request is visible in the share of crash-free requests")
  func crashFree() {
    let share = { (lost: Int, begun: Int) in
      HealthText.crashFree(.init(begun: begun, finished: begun - lost, failed: 0, lost: lost))
    }
    #expect(share(0, 10) == "100%" && share(10, 10) == "0%" && share(1, 2) == "50.0%")
    #expect(share(20, 1_204_331) == "99.9983%" && share(1, 3) == "66.6%" && share(1, 100) == "99.00%")
    #expect(share(1, 1_000_000_000) == "99.999999900%")
    #expect(share(0, 0) == "")
  }

  @Test("numbers have two digits, and large ones are grouped")
  func numbers() {
    let texts = [0, 0.042, 0.5, 8.94, 26.4, 1_463, .infinity].map(HealthText.number)
    #expect(texts == ["0", "0.042", "0.50", "8.9", "26", "1,463", "∞"])
    #expect(HealthText.hours(20) == "<0.01" && HealthText.hours(0) == "0" && HealthText.hours(36_000) == "10")
  }

  @Test("a table fits 80 and 120 columns, and names worse builds with both numbers")
  func table() {
    var new = build(
      "bb", release: "shop@1.4.2", crashes: 6, hours: 4.1,
      requests: .init(begun: 20_113, finished: 20_100, failed: 7, lost: 6))
    (new.comparison, new.timeToBack_ms, new.returns) = (verdict(true), 1_148, 6)
    let old = build(
      "aa", release: "shop@1.4.1", crashes: 3, hours: 336,
      requests: .init(begun: 1_204_331, finished: 1_204_000, failed: 311, lost: 20))
    let report = HealthReport(builds: [old, new])
    for width in [80, 120] {
      let text = HealthText.list(report, terminal: Terminal(width: width, hasColor: false), legend: true)
      let lines = text.split(separator: "\n")
      #expect(lines.allSatisfy { $0.count <= width }, "\(text)")
      #expect(text.contains("99.9983%") && text.contains("99.970%") && text.contains("yes"))
      #expect(text.contains("All rows: program shop"))
      let words = lines.joined(separator: " ")
      #expect(
        words.contains(
          "shop@1.4.2 is worse than shop@1.4.1: 6 crashes, 0.042 expected by shop@1.4.1's requests (evidence 3,512, "
            + "worse from 100)"), "\(text)")
      #expect(width < 120 || text.contains("1,463 (732–2,927)"), "\(text)")
    }
  }

  @Test("a verdict is one sentence, also without a difference and without a comparison")
  func sentences() {
    let report = HealthReport(builds: [build("aa", release: nil), build("bb", release: "2.0")])
    #expect(
      HealthText.sentence(verdict(false, measure: "processHours"), report)
        == "2.0 is not shown to be worse than aa: 1 crash, 0.042 expected by aa's process-hours "
        + "(evidence 0.71, worse from 100)")
    #expect(
      HealthText.sentence(verdict(false, expected: nil), report)
        == "2.0 cannot be compared with aa: no hour of aa before it or beside it is known")
    let same = HealthReport(builds: [build("aa", release: "1"), build("bb", release: "1")])
    #expect(HealthText.sentence(verdict(true), same).hasPrefix("bb is worse than aa: "))
  }

  @Test("an unknown build has its own exit code, and the known builds are named")
  func unknown() {
    let report = HealthReport(builds: [build("0123456789abcdef", release: "1.0"), build("ff", release: nil)])
    let failure = HealthText.unknown("1.1", report)
    #expect(failure.status == 4)
    #expect(
      failure.message
        == "no build, or more than one, has the id or release '1.1'; known: shop ff, shop 0123456789ab (1.0)")
    #expect(
      HealthText.unknown("", HealthReport(builds: [])).message
        == "there is no other build to compare with; none has attached yet")
  }
}
