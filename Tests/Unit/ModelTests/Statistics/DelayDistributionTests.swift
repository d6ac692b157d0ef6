import Foundation
import Testing

@testable import DanglingStatistics

/// Compares the estimated distribution of the delays between free and use with the Python simulation `sim2_censor.py`.
///
/// The quarantine detects late accesses rarely, but the estimate is still unbiased.
@Suite("Delay distribution")
struct DelayDistributionTests {
  static let grid = [0.01, 0.05, 0.1, 0.3, 1]

  /// Simulates one repetition: 200 use-after-frees under varying traffic.
  ///
  /// Simulates hits in a quarantine with 50 slots in its queue and a sampled part.
  private static func hits(_ law: DelayLaw, _ generator: inout SeededGenerator) -> (
    all: DelayDistribution, queue: [Double]
  ) {
    var all = DelayDistribution()
    var queue: [Double] = []
    for _ in 0..<200 {
      let delay = law.draw(&generator)
      let rate = 200 * exp(0.7 * generator.normal())
      let retention = Retention(slots: 50, deallocationsPerSecond: rate)
      let isExplored = generator.chance(0.05)
      let isInQueue = !isExplored && delay <= generator.gamma(shape: 50, scale: 1 / (rate * 0.95))
      let isInExplorer = isExplored && delay <= generator.exponential(mean: 10 / (rate * 0.05))
      if isInQueue { queue.append(delay) }
      if isInQueue || isInExplorer { all.add(delay_s: delay, retention: retention.probability(after: delay)) }
    }
    return (all, queue)
  }

  @Test(
    "the delay estimate is unbiased for every delay law, and varies as in the Python simulation",
    arguments: [
      (DelayLaw.weibull300ms, [0.025, 0.035, 0.041, 0.090, 0.337]),
      (.lognormal100ms, [0.015, 0.034, 0.041, 0.110, 0.185]),
      (.twoWaves, [0.033, 0.031, 0.030, 0.060, 0.158]),
    ])
  func unbiased(law: DelayLaw, pythonSpread: [Double]) {
    var generator = SeededGenerator(seed: 21)
    var estimates = [Measurements](repeating: Measurements(), count: Self.grid.count)
    for _ in 0..<150 * Simulation.scale {
      let hits = Self.hits(law, &generator).all
      for (index, t) in Self.grid.enumerated() { estimates[index].add(hits.count(within: t).estimate / 200) }
    }
    for (index, t) in Self.grid.enumerated() {
      // There are 20 bins for each factor of ten, so a bin spans a factor of 10^(1/20) ≈ 1.06². The estimate
      // interpolates inside a bin; an error of a tenth of the law's share in a bin around `t` is allowed for this.
      let binError = (law.share(within: t * 1.06) - law.share(within: t / 1.06)) / 10
      let estimate = estimates[index]
      #expect(
        abs(estimate.mean - law.share(within: t)) < 4 * estimate.standardError + binError,
        "at \(t) s: \(estimate.mean) ± \(estimate.standardError), true \(law.share(within: t))")
      // Over 150 repetitions, the spread has a standard error of 6 %. It is larger at 1 s, where a few hits (detected
      // accesses) at the highest rates have large weights.
      let ratio = estimate.standardDeviation / pythonSpread[index]
      #expect(ratio > 0.6 && ratio < (t < 1 ? 1.7 : 2.5), "spread at \(t) s: \(estimate.standardDeviation)")
    }
  }

  @Test("the raw distribution of hits is biased (0.73 instead of 0.44); the estimated distribution is not")
  func plainDistributionIsBiased() {
    var generator = SeededGenerator(seed: 22)
    var plain = Measurements()
    for _ in 0..<50 {
      let queue = Self.hits(.weibull300ms, &generator).queue
      plain.add(Double(queue.count { $0 <= 0.1 }) / Double(queue.count))
    }
    #expect(abs(plain.mean - 0.727) < 4 * plain.standardError)
    #expect(plain.mean - DelayLaw.weibull300ms.share(within: 0.1) > 0.2)
  }

  @Test("the stated standard deviation equals that of the error of the estimate, for given accesses")
  func standardDeviation() {
    var generator = SeededGenerator(seed: 23)
    var errors = Measurements()
    var stated = Measurements()
    let retention = Retention(slots: 50, deallocationsPerSecond: 200)
    for _ in 0..<400 {
      var hits = DelayDistribution()
      for index in 0..<200 {
        let delay = 0.005 * Double(index + 1)
        let probability = retention.probability(after: delay)
        if generator.chance(probability) { hits.add(delay_s: delay, retention: probability) }
      }
      errors.add(hits.total.estimate - 200)
      stated.add(hits.total.samplingVariance)
    }
    #expect(abs(errors.mean) < 4 * errors.standardError)
    #expect(abs(stated.mean.squareRoot() / errors.standardDeviation - 1) < 0.15)
  }

  @Test("the delay distribution estimates the number of all accesses and the law's quantiles")
  func totalAndQuantiles() throws {
    var generator = SeededGenerator(seed: 24)
    var hits = DelayDistribution()
    let retention = Retention(slots: 500, deallocationsPerSecond: 100)
    for _ in 0..<20_000 {
      let delay = generator.exponential(mean: 3)
      let probability = retention.probability(after: delay)
      if generator.chance(probability) { hits.add(delay_s: delay, retention: probability) }
    }
    #expect(abs(hits.total.estimate - 20_000) < 4 * hits.total.standardDeviation)
    #expect(abs(try #require(hits.quantile(0.5)) / (3 * log(2)) - 1) < 0.05)
    #expect(abs(try #require(hits.share(within: 3)) - (1 - exp(-1))) < 0.02)
  }

  @Test("the delay distributions of two processes add up to their common distribution")
  func merge() {
    var generator = SeededGenerator(seed: 25)
    var one = DelayDistribution()
    var two = DelayDistribution()
    var both = DelayDistribution()
    for index in 0..<1_000 {
      let delay = generator.exponential(mean: 1)
      if index % 2 == 0 { one.add(delay_s: delay, retention: 0.5) } else { two.add(delay_s: delay, retention: 0.5) }
      both.add(delay_s: delay, retention: 0.5)
    }
    one.merge(two)
    #expect(one == both)
  }

  @Test("extreme delays and invalid probabilities are counted or ignored, and never trap")
  func hostileValues() {
    var hits = DelayDistribution()
    for delay in [-1, 0, 1e-300, 1e300, .infinity, .nan] { hits.add(delay_s: delay, retention: 1) }
    hits.add(delay_s: 1, retention: .nan)
    hits.add(delay_s: 1, retention: 0)
    hits.add(delay_s: 1, retention: -3)
    #expect(hits.total.seen == 6)
    #expect(hits.count(within: .infinity).estimate == 6)
    #expect(hits.count(within: .nan).estimate == 0)
    #expect(DelayDistribution().quantile(0.5) == nil)
    #expect(DelayDistribution().share(within: 1) == nil)
  }

  @Test("a delay distribution is unchanged after encoding and decoding")
  func coding() throws {
    var hits = DelayDistribution()
    for step in 1..<50 { hits.add(delay_s: 0.01 * Double(step), retention: 1 / Double(step)) }
    #expect(try JSONDecoder().decode(DelayDistribution.self, from: JSONEncoder().encode(hits)) == hits)
  }
}
