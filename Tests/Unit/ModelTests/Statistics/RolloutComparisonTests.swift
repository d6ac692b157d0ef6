import Foundation
import Testing

@testable import DanglingStatistics

@Suite("Comparison of a new build with an old build")
struct RolloutComparisonTests {
  typealias Hour = RolloutComparison.Hour

  /// Simulates the replacement of an old build by a new one.
  ///
  /// The old build ran for 14 days and crashed about `crashes` times.
  ///
  /// Computes the verdict after each crash of the new build, for up to 7 days, like a deploy script that polls. An
  /// `Hour` here has the counts of a whole day, as if many processes had run for one hour.
  /// - Returns: The number of crashes of the new build at the verdict "worse"; nil if this verdict never came.
  private static func cutover(crashes: Double, rise: Double, _ generator: inout SeededGenerator) -> Int? {
    let rate = crashes / 14
    let old = (0..<14).map { Hour(hour: $0, seconds: 86_400, crashes: generator.poisson(rate)) }
    var (time, new, count) = (0.0, [Hour](), 0)
    while true {
      let day = Int(time)
      time += generator.exponential(mean: 1 / (rate * rise))
      guard time < 7 else { return nil }
      for passed in day..<max(day, Int(time)) {
        if new.last?.hour == 14 + passed {
          new[new.count - 1].seconds = 86_400
        } else {
          new.append(Hour(hour: 14 + passed, seconds: 86_400))
        }
      }
      let today = 14 + Int(time)
      if new.last?.hour != today { new.append(Hour(hour: today, seconds: 0)) }
      new[new.count - 1].seconds = max(1, (time - time.rounded(.down)) * 86_400)
      new[new.count - 1].crashes += 1
      count += 1
      if RolloutComparison(new: new, old: old).isWorse { return count }
    }
  }

  /// Simulates a canary: the new build serves `share` of the traffic beside the old build, of which no earlier hours
  /// are known.
  ///
  /// Returns the crashes of the new build at the verdict "worse".
  private static func canary(share: Double, rise: Double, _ generator: inout SeededGenerator) -> Int? {
    let (rate, new, old) = (100.0, share * rise, 1 - share)
    var (time, newCrashes, oldCrashes) = (0.0, 0, 0)
    while true {
      time += generator.exponential(mean: 1 / (rate * (new + old)))
      guard time < 1 else { return nil }
      if generator.chance(new / (new + old)) { newCrashes += 1 } else { oldCrashes += 1 }
      let seconds = time * 86_400
      let comparison = RolloutComparison(
        new: [Hour(hour: 5, seconds: seconds * share, sharedSeconds: seconds * share, crashes: newCrashes)],
        old: [Hour(hour: 5, seconds: seconds * old, sharedSeconds: seconds * old, crashes: oldCrashes)])
      if comparison.isWorse { return newCrashes }
    }
  }

  private static func median(_ values: [Int]) -> Double {
    let sorted = values.sorted()
    return Double(sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
  }

  @Test("5,000 rollouts: five times the crashes are shown within 6 crashes at the median, and no difference in ≤ 1 %")
  func rollouts() {
    // The probability of a false alarm is about 0.7 %. With only 1,000 rollouts, more than 1 % would often be false
    // alarms by chance.
    let runs = 5_000 * Simulation.scale
    var generator = SeededGenerator(seed: 81)
    let found = (0..<runs).compactMap { _ in Self.cutover(crashes: 100, rise: 5, &generator) }
    let alarms = (0..<runs).count { _ in Self.cutover(crashes: 100, rise: 1, &generator) != nil }
    let median = Self.median(found)
    print(
      "rollouts: \(found.count) of \(runs) builds with five times the crashes found, after \(median) crashes at the "
        + "median; \(alarms) false alarms in \(runs) rollouts without a difference")
    #expect(found.count == runs && median <= 6)
    #expect(Double(alarms) <= 0.01 * Double(runs))
  }

  @Test("a canary with five times the crashes is found, and one without a difference is not")
  func canaries() {
    let runs = 500 * Simulation.scale
    var generator = SeededGenerator(seed: 82)
    let found = (0..<runs).compactMap { _ in Self.canary(share: 0.1, rise: 5, &generator) }
    let alarms = (0..<runs).count { _ in Self.canary(share: 0.1, rise: 1, &generator) != nil }
    Simulation.note("canary: \(found.count) of \(runs), median \(Self.median(found)), \(alarms) false alarms")
    #expect(Double(found.count) > 0.98 * Double(runs) && Self.median(found) <= 8)
    #expect(Double(alarms) <= 0.01 * Double(runs) + 4 * (0.01 * Double(runs)).squareRoot())
  }

  @Test("an outage that hits both builds beside each other is no evidence against the new one")
  func outage() {
    let old =
      (0..<300).map { Hour(hour: $0, seconds: 3_600) } + [
        Hour(hour: 300, seconds: 3_600, sharedSeconds: 3_600, crashes: 20)
      ]
    let new = [Hour(hour: 300, seconds: 3_600, sharedSeconds: 3_600, crashes: 20)]
    let beside = RolloutComparison(new: new, old: old)
    #expect(!beside.isWorse && beside.newCrashes == 20 && beside.oldCrashes == 20 && beside.expected == 20)
    // Without the old build's hour of the outage, the builds ran one after the other, and the new one looks worse.
    let after = RolloutComparison(new: [Hour(hour: 300, seconds: 3_600, crashes: 20)], old: Array(old.dropLast()))
    #expect(after.isWorse && after.oldCrashes == 0)
  }

  @Test("requests are the exposure if both builds count them, and process-hours for a build that never served one")
  func measure() {
    let old = (0..<50).map { Hour(hour: $0, seconds: 3_600, requests: 1_000, crashes: $0 % 10 == 0 ? 1 : 0) }
    // The new build has the same number of crashes per request, in a tenth of the time.
    let busy = [Hour(hour: 50, seconds: 3_600, requests: 10_000, crashes: 1)]
    let comparison = RolloutComparison(new: busy, old: old)
    #expect(comparison.measure == .requests && comparison.expected.map { abs($0 - 1) < 1e-9 } == true)
    let loop = RolloutComparison(new: [Hour(hour: 50, seconds: 2, crashes: 4)], old: old)
    #expect(loop.measure == .processHours && loop.isWorse)
    let none = RolloutComparison(new: [Hour(hour: 50, seconds: 3_600)], old: [Hour(hour: 0, seconds: 3_600)])
    #expect(none.measure == .processHours && none.value == 1 && none.expected == 0)
  }

  @Test("builds without a common hour or an earlier hour are not compared")
  func incomparable() {
    let later = RolloutComparison(new: [Hour(hour: 3, seconds: 9)], old: [Hour(hour: 4, seconds: 9, crashes: 3)])
    #expect(later.expected == nil && !later.isWorse && later.oldCrashes == 0)
    let long = RolloutComparison.history_h
    let old = RolloutComparison(new: [Hour(hour: long, seconds: 9)], old: [Hour(hour: 0, seconds: 9, crashes: 3)])
    #expect(old.expected == nil)
    #expect(RolloutComparison(new: [], old: []).expected == nil)
  }

  @Test("a stored comparison of an earlier version can be read")
  func stored() throws {
    let text = #"{"logs":[0.5,0,0,0,0,0],"newEvents":2,"oldEvents":1}"#
    let comparison = try JSONDecoder().decode(BuildComparison.self, from: Data(text.utf8))
    #expect(comparison.newEvents == 2 && comparison.value > 1)
  }
}
