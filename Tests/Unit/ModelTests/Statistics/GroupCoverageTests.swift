import Foundation
import Testing

@testable import DanglingStatistics

/// Compares the results with the Python simulation `sim5_stop.py`, which computes when the quarantine has found enough
/// groups of use-after-frees to stop.
@Suite("Group coverage")
struct GroupCoverageTests {
  /// Draws hits (detected accesses) of groups with Zipf frequencies, until the rule stops.
  ///
  /// Returns the number of hits, and the share of accesses that belong to groups without a hit.
  private static func run(
    groups: Int, exponent: Double, until stop: (GroupCoverage) -> Bool, _ generator: inout SeededGenerator
  ) -> (hits: Double, unseen: Double) {
    let weights = (1...groups).map { pow(Double($0), -exponent) }
    let total = weights.reduce(0, +)
    var coverage = GroupCoverage()
    var seen = Set<Int>()
    while !stop(coverage) {
      var left = generator.uniform() * total
      let group = weights.firstIndex { weight in
        left -= weight
        return left < 0
      }
      coverage.add(group: "group\(group ?? 0)")
      seen.insert(group ?? 0)
    }
    let unseen = weights.indices.filter { !seen.contains($0) }.reduce(0) { $0 + weights[$1] }
    return (Double(coverage.hits), unseen / total)
  }

  @Test(
    "if the quarantine stops after 59 hits without a new group, it has missed as many accesses as in Python",
    arguments: [(1, 1.0, 60.0, 0.0), (5, 1, 75, 0), (20, 1, 171, 0.011), (20, 1.5, 208, 0.021), (100, 1, 604, 0.035)])
  func runRule(groups: Int, exponent: Double, hits: Double, unseen: Double) {
    var generator = SeededGenerator(seed: 51)
    var hitCounts = Measurements()
    var unseenShares = Measurements()
    for _ in 0..<100 * Simulation.scale {
      let result = Self.run(groups: groups, exponent: exponent, until: { $0.runSinceNewGroup >= 59 }, &generator)
      hitCounts.add(result.hits)
      unseenShares.add(result.unseen)
    }
    // The tolerance also covers the error of Python's mean, which is slightly smaller than that of the mean here.
    #expect(abs(hitCounts.mean - hits) < 5 * hitCounts.standardError + 0.5, "\(hitCounts.mean)")
    #expect(abs(unseenShares.mean - unseen) < 5 * unseenShares.standardError + 0.001, "\(unseenShares.mean)")
    #expect(unseenShares.mean < 0.05)
  }

  @Test(
    "if the quarantine stops at Good's estimate of 2 %, it has missed as many accesses as in Python",
    arguments: [(20, 0.034), (100, 0.021)])
  func goodRule(groups: Int, unseen: Double) {
    var generator = SeededGenerator(seed: 52)
    var shares = Measurements()
    for _ in 0..<60 * Simulation.scale {
      let result = Self.run(
        groups: groups, exponent: 1, until: { $0.hits >= 50 && $0.unseenShare <= 0.02 }, &generator)
      shares.add(result.unseen)
    }
    #expect(abs(shares.mean - unseen) < 5 * shares.standardError + 0.002, "\(shares.mean)")
  }

  @Test("groups are counted up to a limit, and groups beyond the limit are not counted as new")
  func limit() {
    var coverage = GroupCoverage()
    #expect(coverage.unseenShare == 1)
    for index in 0..<GroupCoverage.groupLimit + 100 { coverage.add(group: "\(index)") }
    #expect(coverage.groups == GroupCoverage.groupLimit)
    #expect(coverage.runSinceNewGroup == 100)
    #expect(coverage.hits == GroupCoverage.groupLimit + 100)
  }
}
