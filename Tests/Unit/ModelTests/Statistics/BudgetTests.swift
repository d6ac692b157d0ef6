import Foundation
import Testing

@testable import DanglingStatistics

/// Compares how the quarantine splits its memory budget among classes with the results of the Python simulation
/// `sim4_alloc.py`, in which 40 classes share one budget.
///
/// Three of these classes have a bug.
@Suite("Budget")
struct BudgetTests {
  /// A simulated service with 40 classes.
  ///
  /// The delays between free and use have another scale for each class. The split of the budget does not know these
  /// scales, and assumes one scale for all classes.
  struct Fleet {
    var rates: [Double]
    var bytes: [Double]
    var scales: [Double]
    var accesses: [Double]

    init(_ generator: inout SeededGenerator) {
      rates = (0..<40).map { _ in 50 * exp(2.2 * generator.normal()) }
      bytes = (0..<40).map { _ in 64 + [64, 96, 160, 288, 544][generator.below(5)] }
      scales = (0..<40).map { _ in 0.2 * exp(1.5 * generator.normal()) }
      accesses = [Double](repeating: 0, count: 40)
      // Draws three different classes with a bug. The probability of a class increases with its traffic.
      var weights = rates.map { pow($0, 0.3) }
      for _ in 0..<3 {
        var left = generator.uniform() * weights.reduce(0, +)
        let chosen = weights.indices.first {
          left -= weights[$0]
          return left < 0
        }
        guard let chosen else { continue }
        weights[chosen] = 0
        accesses[chosen] = 2 * exp(generator.normal())
      }
    }

    func candidates(accesses: [Double], scales: [Double]) -> [BudgetCandidate] {
      rates.indices.map {
        BudgetCandidate(
          name: "class\($0)", accessRate: accesses[$0], deallocationsPerSecond: rates[$0], bytesPerSlot: bytes[$0],
          delays: DelayCurve(scale_s: scales[$0], shape: 0.6))
      }
    }

    /// Returns the exact share of a class's accesses that a quarantine with this many slots detects.
    func caught(_ slots: Double, of index: Int) -> Double {
      1 - exp(-pow(slots / rates[index] / scales[index], 0.6))
    }

    func caughtShare(_ slots: [Double]) -> Double {
      accesses.indices.reduce(0) { $0 + accesses[$1] * caught(slots[$1], of: $1) } / accesses.reduce(0, +)
    }
  }

  /// Runs Thompson sampling over the epochs, and returns the share of detected accesses in all epochs.
  private static func learn(
    _ fleet: Fleet, budget: Double, crashes: Bool, epochs: Int, _ generator: inout SeededGenerator
  ) -> Double {
    var evidence = [ClassEvidence](repeating: ClassEvidence(), count: 40)
    let assumed = [Double](repeating: 0.2, count: 40)
    var caught = 0
    var accesses = 0
    for _ in 0..<epochs {
      let drawn = evidence.map { $0.draw(using: &generator) }
      let candidates = fleet.candidates(accesses: drawn, scales: assumed)
      let slots = BudgetSplit.slots(for: candidates, budgetBytes: budget)
      for index in evidence.indices {
        let came = generator.poisson(fleet.accesses[index])
        let hits = generator.binomial(came, fleet.caught(Double(slots[index]), of: index))
        let attributed = crashes ? generator.binomial(came - hits, 0.3) : 0
        caught += hits
        accesses += came
        evidence[index].observe(
          hits: Double(hits), attributedCrashes: Double(attributed),
          expectedShare: candidates[index].delays.share(within: Double(slots[index]) / fleet.rates[index]),
          observesCrashes: crashes)
      }
    }
    return Double(caught) / Double(max(accesses, 1))
  }

  @Test(
    "the split of the budget catches as many accesses as that of the Python simulation",
    arguments: [(65_536.0, 0.752, 0.591, 0.714, 0.354), (1_048_576, 0.926, 0.854, 0.887, 0.614)])
  func python(budget: Double, oracle: Double, hits: Double, crashes: Double, fifty: Double) {
    var generator = SeededGenerator(seed: 41)
    var known = Measurements()
    var fromHits = Measurements()
    var fromCrashes = Measurements()
    var fixed = Measurements()
    for _ in 0..<16 * Simulation.scale {
      let fleet = Fleet(&generator)
      let slots = BudgetSplit.slots(
        for: fleet.candidates(accesses: fleet.accesses, scales: fleet.scales), budgetBytes: budget)
      known.add(fleet.caughtShare(slots.map(Double.init)))
      let share = min(1, budget / (50 * fleet.bytes.reduce(0, +)))
      fixed.add(fleet.caughtShare([Double](repeating: (50 * share).rounded(.down), count: 40)))
      fromHits.add(Self.learn(fleet, budget: budget, crashes: false, epochs: 60, &generator))
      fromCrashes.add(Self.learn(fleet, budget: budget, crashes: true, epochs: 60, &generator))
    }
    // Python's means are over 60 fleets, so their standard error is about half of that of this test.
    for (name, sample, expected) in [
      ("knowing all", known, oracle), ("from hits", fromHits, hits), ("from crashes", fromCrashes, crashes),
      ("50 each", fixed, fifty),
    ] {
      #expect(
        abs(sample.mean - expected) < 3.5 * sample.standardError + 0.01,
        "\(name): \(sample.mean) ± \(sample.standardError), Python \(expected)")
    }
    #expect(known.mean > fromCrashes.mean && fromCrashes.mean > fromHits.mean && fromHits.mean > fixed.mean)
  }

  @Test("the budget's split is optimal in small steps and stays within the budget")
  func optimal() {
    var generator = SeededGenerator(seed: 42)
    for _ in 0..<20 {
      let candidates = (0..<2).map { index in
        BudgetCandidate(
          name: "class\(index)", accessRate: generator.exponential(mean: 1),
          deallocationsPerSecond: 50 * exp(generator.normal()), bytesPerSlot: 100,
          delays: DelayCurve(scale_s: exp(generator.normal()), shape: 0.6))
      }
      let slots = BudgetSplit.slots(for: candidates, budgetBytes: 100_000)
      #expect(slots.reduce(0, +) <= 1_000 && slots.reduce(0, +) > 990)
      func value(_ first: Int) -> Double {
        candidates[0].caught(slots: Double(first)) + candidates[1].caught(slots: Double(1_000 - first))
      }
      let best = (0...1_000).map(value).max() ?? 0
      // The split can be slightly worse than the best one, because it is computed in steps, which begin at 32 slots and
      // grow by a tenth.
      #expect(
        candidates[0].caught(slots: Double(slots[0])) + candidates[1].caught(slots: Double(slots[1])) > 0.99 * best)
    }
  }

  @Test("if a class's accesses come at two delays, its slots reach one of the delays, not a point between them")
  func hull() {
    var late = DelayDistribution()
    for _ in 0..<1_000 { late.add(delay_s: 0.001, retention: 1) }
    for _ in 0..<4_000 { late.add(delay_s: 10, retention: 1) }
    let candidate = BudgetCandidate(
      name: "waves", accessRate: 1, deallocationsPerSecond: 100, bytesPerSlot: 100, delays: DelayCurve(measured: late))
    let segments = BudgetSplit.hull(of: candidate, budgetBytes: 1e6)
    #expect(zip(segments, segments.dropFirst()).allSatisfy { $0.gainPerByte >= $1.gainPerByte })
    // One straight segment of the concave hull leads over the slots between the two delays, which would detect nothing.
    #expect(segments.contains { $0.start <= 64 && $0.end >= 900 })
  }

  @Test("classes without cost, demand or deallocations get no part of the budget, or exactly the part that they need")
  func limits() {
    let odd = [
      BudgetCandidate(name: "free", accessRate: 1, deallocationsPerSecond: 1, bytesPerSlot: 0, delays: DelayCurve()),
      BudgetCandidate(name: "calm", accessRate: 0, deallocationsPerSecond: 1, bytesPerSlot: 100, delays: DelayCurve()),
      BudgetCandidate(name: "kept", accessRate: 1, deallocationsPerSecond: 0, bytesPerSlot: 100, delays: DelayCurve()),
      BudgetCandidate(
        name: "wrong", accessRate: .nan, deallocationsPerSecond: -1, bytesPerSlot: .infinity,
        delays: DelayCurve(scale_s: -1, shape: .nan)),
    ]
    let slots = BudgetSplit.slots(for: odd, budgetBytes: 1e6)
    #expect(slots[0] == 0 && slots[1] == 0 && slots[3] == 0)
    #expect(slots[2] > 0)
    #expect(BudgetSplit.slots(for: odd, budgetBytes: -5) == [0, 0, 0, 0])
    #expect(BudgetSplit.slots(for: odd, budgetBytes: .nan) == [0, 0, 0, 0])
    #expect(BudgetSplit.slots(for: [], budgetBytes: 1) == [])
  }

  @Test("the evidence for a class weights hits and attributed crashes by their detection probability")
  func evidence() {
    var evidence = ClassEvidence()
    evidence.observe(hits: 2, attributedCrashes: 1, expectedShare: 0.5)
    #expect(abs(evidence.mean - 3.05 / (0.5 + 0.5 + 0.3 * 0.5)) < 1e-12)
    evidence.observe(hits: 0, attributedCrashes: 9, expectedShare: 1, observesCrashes: false, periods: 2)
    #expect(abs(evidence.mean - 3.05 / (1.15 + 2)) < 1e-12)
  }

  @Test("each further KiB of the budget gains less than the previous one")
  func gain() {
    let candidate = BudgetCandidate(
      name: "class", accessRate: 10, deallocationsPerSecond: 1_000, bytesPerSlot: 112, delays: DelayCurve())
    let gains = [0.0, 100, 1_000, 10_000].map(candidate.gainPerKiB)
    #expect(gains == gains.sorted(by: >))
    #expect(gains.allSatisfy { $0 > 0 })
  }

  @Test(
    "the first suggested capacity holds one second's objects; later ones reach the requested coverage")
  func suggestion() {
    #expect(SlotSuggestion.initial(deallocationsPerSecond: 3) == 50)
    #expect(SlotSuggestion.initial(deallocationsPerSecond: 700) == 700)
    #expect(SlotSuggestion.initial(deallocationsPerSecond: 1e9) == 4_096)
    #expect(SlotSuggestion.initial(deallocationsPerSecond: .nan) == 50)
    #expect(SlotSuggestion.slots(catching: 0.9, delays: DelayDistribution(), deallocationsPerSecond: 10) == nil)
    var delays = DelayDistribution()
    for step in 1...100 { delays.add(delay_s: 0.01 * Double(step), retention: 1) }
    let slots = SlotSuggestion.slots(catching: 0.9, delays: delays, deallocationsPerSecond: 1_000)
    #expect((slots ?? 0) > 800 && (slots ?? 0) < 1_000)
  }
}
