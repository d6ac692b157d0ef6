import Foundation
import Testing

@testable import DanglingStatistics

/// Compares the detector of rising crash rates with the Python simulation `sim3_change.py`.
@Suite("Shiryaev–Roberts detector")
struct ShiryaevRobertsTests {
  /// Returns the number of days until an alarm, with one observation per day.
  ///
  /// Returns nil if there is no alarm within `limit` days.
  private static func daysToAlarm(
    rate: (Int) -> Double, expected: Double, limit: Int, _ generator: inout SeededGenerator
  ) -> Int? {
    var detector = ShiryaevRoberts()
    for day in 0..<limit {
      detector.observe(days: 1, expected: expected, events: Double(generator.poisson(rate(day))))
      if detector.value >= 365 { return day }
    }
    return nil
  }

  @Test(
    "on average, a rise of the crash rate is detected as early as in the Python simulation", .serialized,
    arguments: [
      (0.1, 5.0, 11.6), (0.1, 10, 4.7), (0.5, 3, 8.3), (0.5, 5, 3.6), (2, 1.5, 20.9), (2, 2, 7.7), (2, 3, 3.1),
      (10, 1.5, 6.5), (10, 2, 2.4),
    ])
  func delay(rate: Double, rise: Double, python: Double) {
    var generator = SeededGenerator(seed: 61)
    var delays = Measurements()
    for _ in 0..<250 * Simulation.scale {
      let day = Self.daysToAlarm(
        rate: { $0 < 30 ? rate : rate * rise }, expected: rate, limit: 430, &generator)
      // Skips a run with an alarm before the rise, as the Python simulation does.
      if let day, day < 30 { continue }
      delays.add(Double((day ?? 429) - 29))
    }
    // The tolerance of 0.06 covers the error of Python's means, which are over about 1,450 runs.
    #expect(
      abs(delays.mean - python) < 4 * delays.standardError + 0.06, "\(delays.mean) ± \(delays.standardError) days")
  }

  @Test(
    "at a constant crash rate, the mean time to a false alarm exceeds a year, as in the Python simulation",
    arguments: [(0.1, 720.0), (0.5, 996), (2, 1_531)])
  func falseAlarms(rate: Double, python: Double) {
    var generator = SeededGenerator(seed: 62)
    var days = 0
    var alarms = 0
    for _ in 0..<120 * Simulation.scale {
      let alarm = Self.daysToAlarm(rate: { _ in rate }, expected: rate, limit: 730, &generator)
      days += alarm ?? 730
      alarms += alarm == nil ? 0 : 1
    }
    let mean = Double(days) / Double(alarms)
    // The tolerance assumes that the number of alarms has a Poisson distribution, which it has approximately.
    #expect(abs(mean / python - 1) < 4 / Double(alarms).squareRoot(), "\(mean) days")
    #expect(mean > 365)
  }

  @Test("the detector's value minus the days is a martingale, for any interval between observations and any history")
  func martingale() {
    for (expected, days, before) in [(0.1, 1.0, 0.0), (0.5, 1, 3), (0.02, 0.04, 1), (2, 7, 5)] {
      var detector = ShiryaevRoberts()
      detector.observe(days: 3, expected: 1, events: before)
      // The mean over the Poisson distribution of the next number of events. The probability of 400 or more events is
      // negligible.
      var mean = 0.0
      for events in 0..<400 {
        var next = detector
        next.observe(days: days, expected: expected, events: Double(events))
        mean += next.value * exp(Double(events) * log(expected) - expected - lgamma(Double(events) + 1))
      }
      #expect(abs(mean - (detector.value + days)) < 1e-9 * mean)
    }
  }

  @Test("the posterior probability is one half at a value of 365, for one expected change a year")
  func posterior() {
    var detector = ShiryaevRoberts()
    detector.observe(days: 365, expected: 0, events: 0)
    #expect(detector.value == 365)
    #expect(abs(detector.posterior(changesPerDay: 1 / 365) - 0.5) < 1e-12)
  }

  @Test("the detector's value stays finite after bursts, infinities and NaN")
  func hostileValues() {
    var detector = ShiryaevRoberts()
    detector.observe(days: 1, expected: 0.1, events: 1e18)
    #expect(detector.value.isFinite && detector.value > 365)
    for odd in [Double.nan, .infinity, -1] { detector.observe(days: odd, expected: odd, events: odd) }
    #expect(detector.value.isFinite)
    detector.reset()
    #expect(detector.value == 0)
  }
}
