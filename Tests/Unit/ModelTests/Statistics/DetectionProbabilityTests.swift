import Foundation
import Testing

@testable import DanglingStatistics

@Suite("Detection probability")
struct DetectionProbabilityTests {
  private static func measure(
    _ law: DelayLaw, accesses: Int, _ generator: inout SeededGenerator
  ) -> (DelayDistribution, Retention) {
    let retention = Retention(slots: 50, deallocationsPerSecond: 100)
    var hits = DelayDistribution()
    for _ in 0..<accesses {
      let delay = law.draw(&generator)
      let probability = retention.probability(after: delay)
      if generator.chance(probability) { hits.add(delay_s: delay, retention: probability) }
    }
    return (hits, retention)
  }

  @Test(
    "the interval covers the true detection probability at its stated rate",
    arguments: [(DelayLaw.weibull300ms, 60), (.weibull300ms, 600), (.twoWaves, 200), (.lognormal100ms, 20)])
  func coverage(law: DelayLaw, accesses: Int) throws {
    var generator = SeededGenerator(seed: 31)
    var held = 0
    var estimates = Measurements()
    let runs = 100 * Simulation.scale
    for _ in 0..<runs {
      let (hits, retention) = Self.measure(law, accesses: accesses, &generator)
      let detection = try #require(DetectionProbability(delays: hits, retention: retention))
      let truth = law.share(within: retention.horizon_s) / law.share(within: retention.reach_s)
      held += detection.interval.contains(truth) ? 1 : 0
      estimates.add(detection.estimate)
      #expect(detection.interval.contains(detection.estimate))
    }
    // The interval must contain the true value in 95 % of the runs, within four standard errors.
    #expect(Double(held) > Double(runs) * 0.95 - 4 * (Double(runs) * 0.95 * 0.05).squareRoot())
  }

  @Test("the estimated detection probability is near the truth, and its interval narrows with hits")
  func narrows() throws {
    var generator = SeededGenerator(seed: 32)
    var widths: [Double] = []
    for accesses in [50, 500, 5_000, 50_000] {
      let (hits, retention) = Self.measure(.weibull300ms, accesses: accesses, &generator)
      let detection = try #require(DetectionProbability(delays: hits, retention: retention))
      widths.append(detection.interval.upper - detection.interval.lower)
    }
    #expect(widths == widths.sorted(by: >))
    let (hits, retention) = Self.measure(.weibull300ms, accesses: 50_000, &generator)
    let truth = DelayLaw.weibull300ms.share(within: 50.0 / 95) / DelayLaw.weibull300ms.share(within: 2)
    #expect(abs(try #require(DetectionProbability(delays: hits, retention: retention)).estimate - truth) < 0.02)
  }

  @Test("hits within the horizon (how long the queue keeps objects) do not prove that no use-after-free was missed")
  func noLateHits() throws {
    let retention = Retention(slots: 50, deallocationsPerSecond: 100)
    var hits = DelayDistribution()
    for _ in 0..<100 { hits.add(delay_s: 0.01, retention: 1) }
    let few = try #require(DetectionProbability(delays: hits, retention: retention))
    #expect(few.estimate == 1)
    #expect(few.interval.lower < 0.5)
    for _ in 0..<20_000 { hits.add(delay_s: 0.01, retention: 1) }
    let many = try #require(DetectionProbability(delays: hits, retention: retention))
    #expect(many.interval.lower > 0.95)
  }

  @Test("the detection probability is unknown without hits, and 1 without deallocations")
  func limits() {
    let retention = Retention(slots: 50, deallocationsPerSecond: 100)
    #expect(DetectionProbability(delays: DelayDistribution(), retention: retention) == nil)
    var hits = DelayDistribution()
    hits.add(delay_s: 5, retention: 1)
    let idle = Retention(slots: 50, deallocationsPerSecond: 0)
    #expect(DetectionProbability(delays: hits, retention: idle)?.estimate == 1)
  }

  @Test(
    "the interval of a rate is Jeffreys' interval: 2.57 to 8.87 for 10 events in 2 units, from 0 for no events")
  func eventRate() throws {
    let ten = try #require(EventRate(events: 10, exposure: 2))
    #expect(ten.estimate == 5)
    #expect(abs(ten.interval.lower - 5.141448891261431 / 2) < 1e-6)
    #expect(abs(ten.interval.upper - 17.739437952863632 / 2) < 1e-6)
    let none = try #require(EventRate(events: 0, exposure: 1))
    #expect(none.interval.lower == 0)
    #expect(abs(none.interval.upper - 2.511943093657444) < 1e-6)
    #expect(EventRate(events: 1, exposure: 0) == nil)
  }

  @Test("the rate of deallocations is averaged over five minutes, and restarts when the counter decreases")
  func deallocationRate() {
    var rate = DeallocationRate()
    rate.read(count: 0, at: 0)
    #expect(rate.mean == 0)
    rate.read(count: 1_000, at: 10)
    #expect(rate.mean == 100)
    for step in 1...600 { rate.read(count: 1_000 + UInt64(step) * 2_000, at: 10 + Double(step) * 10) }
    #expect(abs(rate.mean - 200) < 1)
    #expect(rate.maximum == 200)
    let before = rate.mean
    rate.read(count: 5, at: 6_020)
    rate.read(count: 5, at: 6_000)
    rate.read(count: .max, at: .nan)
    #expect(rate.mean == before)
  }
}
