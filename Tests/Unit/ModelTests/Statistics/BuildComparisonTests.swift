import Foundation
import Testing

@testable import DanglingStatistics

/// Compares the results with those of the Python simulation `sim6_build.py`.
///
/// In one simulation, a new build runs beside the old build. In the other one, the crash rate falls.
@Suite("Build comparison and rate drop")
struct BuildComparisonTests {
  /// Simulates both builds for 30 days.
  ///
  /// Returns the day on which the e-value reached 100, and the number of crashes of the new build until then.
  private static func run(
    share: Double, rate: Double, rise: Double, _ generator: inout SeededGenerator
  ) -> (day: Double, crashes: Int)? {
    var comparison = BuildComparison()
    let new = rate * share * rise
    let old = rate * (1 - share)
    var day = generator.exponential(mean: 1 / (new + old))
    while day < 30 {
      comparison.observe(isNewBuild: generator.chance(new / (new + old)), newShare: share)
      if comparison.value >= 100 { return (day, comparison.newEvents) }
      day += generator.exponential(mean: 1 / (new + old))
    }
    return nil
  }

  @Test(
    "a worse build is detected as often and as early as in the Python simulation",
    arguments: [
      (0.1, 0.5, 10.0, 0.980, 10.5, 5.4), (0.1, 2, 5, 1.000, 8.9, 8.7), (0.1, 2, 10, 1, 2.8, 5.6),
      (0.5, 2, 3, 0.998, 9.9, 29.9), (0.5, 10, 3, 1, 1.9, 29.4),
    ])
  func power(share: Double, rate: Double, rise: Double, found: Double, days: Double, crashes: Double) {
    var generator = SeededGenerator(seed: 71)
    var foundDays = Measurements()
    var foundCrashes = Measurements()
    let runs = 300 * Simulation.scale
    for _ in 0..<runs {
      guard let alarm = Self.run(share: share, rate: rate, rise: rise, &generator) else { continue }
      foundDays.add(alarm.day)
      foundCrashes.add(Double(alarm.crashes))
    }
    let error = (found * (1 - found) / Double(runs)).squareRoot()
    #expect(abs(Double(foundDays.values.count) / Double(runs) - found) < 5 * error + 0.01)
    // The tolerance also covers the error of the mean of Python's 400 runs, and its rounding.
    #expect(abs(foundDays.mean - days) < 5 * foundDays.standardError + 0.05, "\(foundDays.mean) days")
    #expect(abs(foundCrashes.mean - crashes) < 5 * foundCrashes.standardError + 0.05, "\(foundCrashes.mean) crashes")
  }

  @Test(
    "two builds with equal crash rates cause an alarm in at most 1 % of runs",
    arguments: [(0.1, 10.0), (0.5, 2), (0.5, 10)])
  func falseAlarms(share: Double, rate: Double) {
    var generator = SeededGenerator(seed: 72)
    let runs = 600 * Simulation.scale
    let alarms = (0..<runs).count { _ in Self.run(share: share, rate: rate, rise: 1, &generator) != nil }
    #expect(Double(alarms) < 0.01 * Double(runs) + 4 * (0.01 * Double(runs)).squareRoot())
  }

  @Test("a build that runs without the other build, or with an invalid share of the load, causes no alarm")
  func noComparison() {
    var comparison = BuildComparison()
    for share in [0, 1, -1, 2, Double.nan] { comparison.observe(isNewBuild: true, newShare: share) }
    #expect(comparison == BuildComparison())
    #expect(comparison.value == 1)
  }

  @Test(
    "the drop of a crash rate after a fix is accepted as early as in the Python simulation",
    arguments: [(1.0, 3.0, 11.7), (1, 5, 6.7), (1, 10, 5.1), (1, 1e9, 4.0), (2, 5, 3.2), (2, 1e9, 2.0), (5, 1e9, 1.0)])
  func rateDrop(rate: Double, drop: Double, days: Double) {
    var generator = SeededGenerator(seed: 73)
    var counts = Measurements()
    for _ in 0..<400 * Simulation.scale {
      var process = RateDrop()
      var day = 0
      while process.value < 20, day < 200 {
        process.observe(expectedAtRaisedRate: rate, events: Double(generator.poisson(rate / drop)))
        day += 1
      }
      counts.add(Double(day))
    }
    #expect(abs(counts.mean - days) < 5 * counts.standardError + 0.05, "\(counts.mean) days")
  }

  @Test("at an unchanged crash rate, the exact mean of the e-value (the evidence) for a drop is 1")
  func rateDropIsFair() {
    for expected in [0.1, 1, 5] {
      var mean = 0.0
      for events in 0..<100 {
        var process = RateDrop()
        process.observe(expectedAtRaisedRate: expected, events: Double(events))
        mean += process.value * exp(Double(events) * log(expected) - expected - lgamma(Double(events) + 1))
      }
      #expect(abs(mean - 1) < 1e-12)
    }
  }

  @Test("an unchanged rate is reported as a drop in at most 5 % of runs of 200 days")
  func rateDropFalseAlarms() {
    var generator = SeededGenerator(seed: 74)
    let runs = 300 * Simulation.scale
    let alarms = (0..<runs).count { _ in
      var process = RateDrop()
      return (0..<200).contains { _ in
        process.observe(expectedAtRaisedRate: 1, events: Double(generator.poisson(1)))
        return process.value >= 20
      }
    }
    #expect(Double(alarms) < 0.05 * Double(runs) + 4 * (0.05 * Double(runs)).squareRoot())
  }
}
