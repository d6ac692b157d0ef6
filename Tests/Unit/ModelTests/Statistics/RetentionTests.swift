import Foundation
import Testing

@testable import DanglingStatistics

/// Compares the results with the Python simulation `sim1_quarantine.py`, which counts the accesses that a quarantine of
/// bounded size detects.
///
/// A quarantine has a queue, and a sampled part, in which a random object is evicted.
@Suite("Retention")
struct RetentionTests {
  @Test("a simulated quarantine keeps objects with the computed probability: in the queue, the sampled part, and both")
  func simulatedQuarantine() {
    // Simulates deallocations one after the other. Each object is accessed once, after one of the delays below.
    let retention = Retention(slots: 20, deallocationsPerSecond: 100)
    let share = 0.05
    let delays = [0.05, 0.15, 0.2, 0.3, 0.6, 1.2]
    var generator = SeededGenerator(seed: 11)
    var inQueue = [Double](repeating: 0, count: delays.count)
    var inExplorer = inQueue
    var inEither = inQueue
    var asked = inQueue

    var queue: [Int] = []
    var explorer = [Int](repeating: -1, count: 4)
    var due: [(time: Double, object: Int, delay: Int)] = []
    var time = 0.0
    let objects = 60_000 * Simulation.scale
    for object in 0..<objects {
      time += generator.exponential(mean: 0.01)
      // A linear scan is fast enough: the delays are short, so few accesses are pending.
      for access in due where access.time <= time {
        let queued = queue.contains(access.object)
        let explored = explorer.contains(access.object)
        asked[access.delay] += 1
        inQueue[access.delay] += queued ? 1 : 0
        inExplorer[access.delay] += explored ? 1 : 0
        inEither[access.delay] += queued || explored ? 1 : 0
      }
      due.removeAll { $0.time <= time }
      if generator.chance(share) {
        explorer[generator.below(explorer.count)] = object
      } else {
        queue.append(object)
        if queue.count > 20 { queue.removeFirst() }
      }
      let delay = object % delays.count
      due.append((time + delays[delay], object, delay))
    }

    for (index, delay) in delays.enumerated() {
      let n = asked[index]
      func agrees(_ seen: Double, _ expected: Double) -> Bool {
        // The tolerance is 6 standard deviations of independent objects, plus 0.002, because neighboring objects of a
        // queue are not independent.
        abs(seen / n - expected) < 6 * (expected * (1 - expected) / n).squareRoot() + 0.002
      }
      #expect(agrees(inQueue[index], retention.queueProbability(after: delay)), "queue at \(delay) s")
      #expect(agrees(inExplorer[index], retention.explorerProbability(after: delay)), "explorer at \(delay) s")
      #expect(agrees(inEither[index], retention.probability(after: delay)), "either at \(delay) s")
    }
  }

  @Test(
    "the queue's detection probability equals the Python simulation's (n = 200,000)",
    arguments: [
      (DelayLaw.exponential10ms, 50.0, 10_000.0, 0.3898), (.exponential10ms, 50, 1_000, 0.9916),
      (.lognormal50ms, 50, 100, 0.8742), (.lognormal50ms, 500, 10_000, 0.4988), (.weibull1s, 50, 100, 0.5061),
      (.weibull1s, 500, 1_000, 0.5044), (.weibull1s, 5_000, 1_000, 0.8933), (.pareto1ms, 50, 10_000, 0.6709),
      (.pareto1ms, 500, 10_000, 0.9340),
    ])
  func detection(law: DelayLaw, slots: Double, rate: Double, expected: Double) {
    var generator = SeededGenerator(seed: 12)
    let retention = Retention(slots: slots, deallocationsPerSecond: rate, explorerShare: 0)
    var sample = Measurements()
    for _ in 0..<1_500 * Simulation.scale { sample.add(retention.queueProbability(after: law.draw(&generator))) }
    // The tolerance of 0.004 covers the standard error of Python's value, which is at most 0.0011.
    #expect(abs(sample.mean - expected) < 4 * sample.standardError + 0.004)
  }

  @Test("the probability for an exponential delay equals its closed form")
  func closedForm() {
    // The closed form is 1 - (λ/(λ+μ))^K: λ = 10,000/s is the rate of deallocations, 1/μ = 0.01 s the mean delay, and K
    // = 50 the number of slots. The sum over 2,000 quantiles of the delay approximates the integral.
    let retention = Retention(slots: 50, deallocationsPerSecond: 10_000, explorerShare: 0)
    let steps = 2_000
    let mean =
      (0..<steps).reduce(0.0) { sum, step in
        let delay = -0.01 * log(1 - (Double(step) + 0.5) / Double(steps))
        return sum + retention.queueProbability(after: delay)
      } / Double(steps)
    #expect(abs(mean - (1 - pow(10_000.0 / 10_100, 50))) < 1e-4)
  }

  @Test("a sampled part of 4 slots, at 5 of 100 deallocations a second, keeps an object for 0.8 s on average")
  func explorer() {
    let retention = Retention(slots: 20, deallocationsPerSecond: 100)
    #expect(retention.explorerProbability(after: 0) == 0.05)
    #expect(abs(retention.explorerProbability(after: 0.8) - 0.05 * exp(-1)) < 1e-15)
    // After 1.2 s, only the sampled part can contain the object: the queue of 20 objects has evicted it long before.
    #expect(abs(retention.probability(after: 1.2) - 0.05 * exp(-1.5)) < 1e-9)
  }

  @Test("50 slots at 95 frees a second keep objects for 50/95 s, and the sampled part almost four times as long")
  func horizon() {
    let retention = Retention(slots: 50, deallocationsPerSecond: 100)
    #expect(retention.horizon_s == 50.0 / 95)
    #expect(retention.reach_s == 2)
  }

  @Test("one in 20 freed objects goes to the sampled part of the quarantine, the others to the queue")
  func disjoint() {
    let retention = Retention(slots: 50, deallocationsPerSecond: 100)
    #expect(retention.probability(after: 0) == 1)
    #expect(retention.queueProbability(after: 0) == 0.95)
    // At twice the horizon, only the sampled part still contains objects.
    #expect(abs(retention.probability(after: 2 * retention.horizon_s) - 0.05 * exp(-10.0 / 19)) < 1e-6)
  }

  @Test("a quarantine of fewer than five slots has no sampled part")
  func smallQueue() {
    let retention = Retention(slots: 4, deallocationsPerSecond: 100)
    #expect(retention.explorerShare == 0 && retention.explorerSlots == 0)
    #expect(retention.queueProbability(after: 0) == 1 && retention.horizon_s == 0.04)
  }

  @Test("a class without deallocations keeps objects forever; a class without slots keeps no object")
  func limits() {
    #expect(Retention(slots: 50, deallocationsPerSecond: 0).horizon_s == .infinity)
    #expect(Retention(slots: 50, deallocationsPerSecond: 0).probability(after: 1e9) == 1)
    #expect(Retention(slots: 0, deallocationsPerSecond: 10).probability(after: 0) == 0)
    #expect(Retention(slots: .nan, deallocationsPerSecond: -1).probability(after: .nan) == 0)
  }
}
