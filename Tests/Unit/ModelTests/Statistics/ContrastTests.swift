import Foundation
import Testing

@testable import DanglingStatistics

@Suite("What distinguishes the crashes of a group from others")
struct ContrastTests {
  /// The expected logarithms were computed with exact fractions.
  ///
  /// The arguments are the counts of found, sampled, marked and all items. The first two values are those of Fisher's
  /// lady tasting tea, 1/70 and 17/70.
  @Test(
    "the tail of the hypergeometric distribution equals exact fractions",
    arguments: [
      (4, 4, 4, 8, -1.845098040014257), (3, 4, 4, 8, -0.614649118635983), (10, 30, 40, 300, -2.6163359541270417),
      (90, 100, 150, 1000, -74.42561871684799), (500, 500, 500, 2000, -486.7519165941166),
      (450, 500, 700, 2000, -199.3069301853625), (3, 500, 4, 2000, -1.2958035790582692),
      (1, 10, 5, 100, -0.38064822302529766),
    ])
  func tail(found: Int, sample: Int, marked: Int, total: Int, expected: Double) {
    let log = Hypergeometric.upperTailLog10(found: found, sample: sample, marked: marked, total: total)
    #expect(abs(log - expected) < 1e-8 * max(1, abs(expected)))
  }

  @Test("a certain count has probability 1, an impossible count has probability 0, and wrong arguments do not trap")
  func edges() {
    let tail = Hypergeometric.upperTailLog10
    #expect(tail(0, 10, 5, 100) == 0)
    // If 8 of 10 items are marked, each sample of 5 contains at least 3 marked ones.
    #expect(tail(3, 5, 8, 10) == 0)
    #expect(tail(6, 5, 8, 10) == -.infinity)
    #expect(tail(1, -1, 5, 100) == 0 && tail(1, 5, 101, 100) == 0 && tail(1, .max, 5, -1) == 0)
  }

  /// The expected values are those of R: `p.adjust(c(0.005, 0.01, 0.03, 0.04), "holm")`.
  @Test("probabilities are corrected as R's p.adjust corrects them by Holm's method")
  func holm() {
    let corrected = Contrast.holm([0.005, 0.01, 0.03, 0.04].map(Self.log10)).map { Self.power($0) }
    for (value, expected) in zip(corrected, [0.02, 0.03, 0.06, 0.06]) { #expect(abs(value - expected) < 1e-12) }
    #expect(Contrast.holm([Self.log10(0.9), 0]).allSatisfy { $0 == 0 })
  }

  private static func log10(_ value: Double) -> Double { Foundation.log10(value) }
  private static func power(_ value: Double) -> Double { pow(10, value) }

  private static func crash(_ facts: [String: String]) -> Set<Contrast.Fact> {
    Set(facts.map { .init(key: $0.key, value: $0.value) })
  }

  @Test("the finding has the counts, the support and the lift of its value")
  func finding() throws {
    // 9 of the 10 crashes of the group and 2 of the 30 others are in zone a.
    let group = (0..<10).map { Self.crash(["zone": $0 < 9 ? "a" : "b", "host": "h\($0 % 3)", "kernel": "6.1"]) }
    let rest = (0..<30).map { Self.crash(["zone": $0 < 2 ? "a" : "b", "host": "h\($0 % 3)", "kernel": "6.1"]) }
    let result = Contrast.result(group: group, rest: rest)
    let finding = try #require(result.findings.first)
    #expect(result.findings.count == 1 && finding.fact == .init(key: "zone", value: "a"))
    #expect(finding.inGroup == 9 && finding.inRest == 2 && finding.support == 0.9)
    #expect(abs(finding.lift - 0.9 * 40 / 11) < 1e-12)
    // Five values are tested: two zones and three hosts, but not the kernel, which is the same in all crashes.
    #expect(result.tests == 5)
    let single = Hypergeometric.upperTailLog10(found: 9, sample: 10, marked: 11, total: 40)
    #expect(abs(finding.log10P - (single + Self.log10(5))) < 1e-12)
  }

  @Test("without other crashes, without a difference, and for values of one crash, there is no finding")
  func nothing() {
    let crashes = (0..<50).map { Self.crash(["host": "h\($0 % 5)", "trace": "\($0)"]) }
    #expect(Contrast.result(group: crashes, rest: []) == .init(findings: [], tests: 0))
    #expect(Contrast.result(group: [], rest: crashes).findings.isEmpty)
    let result = Contrast.result(group: crashes, rest: crashes)
    #expect(result.findings.isEmpty && result.tests == 55)
    let unique = Contrast.result(group: crashes, rest: [Self.crash(["host": "h0"])])
    #expect(!unique.findings.contains { $0.fact.key == "trace" })
  }

  @Test("chance alone gives a finding in at most 5 % of the comparisons")
  func falseAlarms() {
    var random = SeededGenerator(seed: 27)
    let rounds = 400
    var alarms = 0
    for _ in 0..<rounds {
      func crashes(_ count: Int) -> [Set<Contrast.Fact>] {
        (0..<count).map { _ in
          Self.crash(Dictionary(uniqueKeysWithValues: (0..<8).map { ("key\($0)", "\(random.next() % 6)") }))
        }
      }
      if !Contrast.result(group: crashes(40), rest: crashes(160)).findings.isEmpty { alarms += 1 }
    }
    print("contrast: \(alarms) of \(rounds) comparisons without a cause have a finding")
    #expect(alarms <= rounds / 20)
  }

  @Test("only the most frequent values of a key are tested, and the number of findings is limited")
  func limits() {
    let group = (0..<2_000).map { Self.crash(["user": "u\($0 % 1_000)"]) }
    let result = Contrast.result(group: group, rest: [Self.crash(["user": "other"])])
    #expect(result.tests == Contrast.valuesOfAKey)
    let many = Set((0..<60).map { Contrast.Fact(key: "tag \($0)", value: "on") })
    let findings = Contrast.result(
      group: Array(repeating: many, count: 30), rest: Array(repeating: [], count: 30)
    ).findings
    #expect(findings.count == Contrast.findingLimit)
  }
}
