import Foundation
import Testing

@testable import DanglingStatistics

@Suite("Class statistics")
struct ClassStatisticsTests {
  /// Simulates a process that frees 100 objects per second, for two hours.
  ///
  /// One of a hundred objects is used after it was freed.
  private static func simulate() -> (ClassStatistics, accesses: Int, hits: Int) {
    var generator = SeededGenerator(seed: 91)
    var statistics = ClassStatistics(className: "App.Session", build: "7f3a", bytesPerSlot: 112, slots: 50)
    var accesses = 0
    var hits = 0
    statistics.readDeallocations(count: 0, at: 0)
    for second in 1...7_200 {
      statistics.readDeallocations(count: UInt64(second) * 100, at: Double(second))
      statistics.observe(admitted: 100, skipped: [.size: 1])
      let delay = generator.exponential(mean: 0.5)
      accesses += 1
      guard generator.chance(statistics.retention.probability(after: delay)) else { continue }
      hits += 1
      statistics.observeHit(kind: .call, delay_s: delay, group: "App.handle(\(second % 3))")
    }
    statistics.observeAttributedCrash()
    statistics.endPeriod(days: 2.0 / 24, requests: 7_200, hits: Double(hits), attributedCrashes: 1)
    return (statistics, accesses, hits)
  }

  @Test("the statistics of a simulated class equal the simulation's true values")
  func summary() throws {
    let (statistics, accesses, hits) = Self.simulate()
    let summary = ClassSummary(statistics)
    #expect(summary.deallocationsPerSecond == 100)
    #expect(summary.horizon_s == 50.0 / 95)
    #expect(summary.bytes == 5_600)
    #expect(summary.hits == Double(hits))
    #expect(abs(summary.estimatedAccesses - Double(accesses)) < 4 * summary.estimatedAccesses_sd)
    #expect(summary.estimatedAccesses_sd < 0.1 * Double(accesses))
    #expect(summary.missed == summary.estimatedAccesses - summary.hits)
    // The queue keeps objects for 50/95 s (its horizon), and the mean delay is half a second. The estimate covers
    // delays up to 2 s.
    let truth = (1 - exp(-100.0 / 95)) / (1 - exp(-4))
    #expect(try #require(summary.detection).interval.contains(truth))
    #expect(abs(try #require(summary.hitsPerMillionRequests).estimate - Double(hits) / 7_200 * 1e6) < 1e-6)
    #expect(try #require(summary.crashShare) == 1 / summary.missed)
    // The suggestion must cover 90 % of the delays, which are below 0.5 s · ln 10. In this time, the process frees 115
    // objects.
    #expect(abs(Double(summary.suggestedSlots) - 115) < 35)
    #expect(summary.groups == 3)
    #expect(summary.runSinceNewGroup < hits - 2 && summary.runSinceNewGroup > hits - 50)
    #expect(summary.gainPerKiB > 0)
    #expect(statistics.skipped == [.size: 7_200])
  }

  @Test("the summary of a class without data states that there is no data")
  func empty() {
    let summary = ClassSummary(ClassStatistics(className: "A", build: "b", bytesPerSlot: 100, slots: 50))
    #expect(summary.detection == nil)
    #expect(summary.horizon_s == nil)
    #expect(summary.crashShare == nil)
    #expect(summary.hitsPerMillionRequests == nil)
    #expect(summary.suggestedSlots == 50)
    #expect(summary.unseenShare == 1)
  }

  @Test("class statistics and their summary are unchanged after encoding and decoding")
  func coding() throws {
    let (statistics, _, _) = Self.simulate()
    #expect(try JSONDecoder().decode(ClassStatistics.self, from: JSONEncoder().encode(statistics)) == statistics)
    let summary = ClassSummary(statistics)
    #expect(try JSONDecoder().decode(ClassSummary.self, from: JSONEncoder().encode(summary)) == summary)
  }

  @Test("uses of handles to freed objects are counted, but not as hits; statistics without this count can be decoded")
  func handles() throws {
    var statistics = ClassStatistics(className: "A", build: "b", bytesPerSlot: 100, slots: 50)
    let before = try JSONEncoder().encode(statistics)
    #expect(!String(decoding: before, as: UTF8.self).contains("missesOfHandles"))
    #expect(try JSONDecoder().decode(ClassStatistics.self, from: before).handleMisses == 0)
    statistics.observeHandleMiss()
    statistics.observeHandleMiss()
    let summary = ClassSummary(statistics)
    #expect(summary.handleMisses == 2 && summary.hits == 0 && summary.groups == 0)
    #expect(try JSONDecoder().decode(ClassStatistics.self, from: JSONEncoder().encode(statistics)) == statistics)
  }

  @Test("values from a damaged ring do not distort class statistics, and never trap")
  func hostileValues() throws {
    var statistics = ClassStatistics(className: "A", build: "b", bytesPerSlot: .nan, slots: .infinity)
    statistics.readDeallocations(count: .max, at: 1)
    statistics.readDeallocations(count: 0, at: 2)
    statistics.observe(admitted: -.infinity, skipped: [.budget: .nan])
    statistics.observeHit(kind: .field, delay_s: .nan, group: "")
    statistics.observeHit(kind: .audit, delay_s: nil, group: "")
    statistics.endPeriod(days: .nan, requests: -1, hits: .infinity, attributedCrashes: .nan)
    var generator = SeededGenerator(seed: 92)
    #expect(BudgetSplit.slots(for: [statistics.candidate(using: &generator)], budgetBytes: 1e6) == [0])
    #expect(ClassSummary(statistics).hits == 2)
    _ = try JSONEncoder().encode(ClassSummary(statistics))
  }
}
