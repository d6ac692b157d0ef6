import Foundation

@testable import DanglingStatistics

/// A SplitMix64 generator that starts from a seed.
///
/// It returns the same numbers in each run, so a simulation either always passes or always fails.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed &* 0x9e37_79b9_7f4a_7c15 }

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }

  /// Returns a uniform number between 0 and 1.
  mutating func uniform() -> Double { RandomVariates.uniform(&self) }
  mutating func chance(_ probability: Double) -> Bool { uniform() < probability }
  mutating func normal() -> Double { RandomVariates.normal(&self) }
  mutating func exponential(mean: Double) -> Double { -mean * log(uniform()) }
  mutating func weibull(scale: Double, shape: Double) -> Double { scale * pow(-log(uniform()), 1 / shape) }
  mutating func gamma(shape: Double, scale: Double) -> Double { scale * RandomVariates.gamma(shape: shape, &self) }
  /// Returns a number below `count`.
  ///
  /// For the counts that the tests use, the bias of the modulus is about 2⁻⁵⁰.
  mutating func below(_ count: Int) -> Int { Int(next() % UInt64(count)) }

  /// Returns a number with a Poisson distribution.
  ///
  /// It sums the gaps between events, so its time grows with the mean: it suits means up to some hundreds.
  mutating func poisson(_ mean: Double) -> Int {
    var count = 0
    var time = exponential(mean: 1)
    while time < mean {
      count += 1
      time += exponential(mean: 1)
    }
    return count
  }

  mutating func binomial(_ trials: Int, _ probability: Double) -> Int {
    (0..<trials).count { _ in chance(probability) }
  }
}

/// The mean and the standard error of a simulation's results.
struct Measurements {
  private(set) var values: [Double] = []

  mutating func add(_ value: Double) { values.append(value) }

  var mean: Double { values.reduce(0, +) / Double(values.count) }
  var standardDeviation: Double {
    let mean = mean
    return (values.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(values.count - 1)).squareRoot()
  }
  var standardError: Double { standardDeviation / Double(values.count).squareRoot() }
}

/// The factor by which the simulations are larger than usual.
///
/// `DANGLING_SIMULATION_SCALE=10` makes each simulation ten times as large. The tolerances are then smaller, because
/// they are multiples of the standard errors.
///
/// If the variable is set, even to 1, the simulations print their results.
enum Simulation {
  private static let environment = ProcessInfo.processInfo.environment["DANGLING_SIMULATION_SCALE"]
  static let scale = max(1, Int(environment ?? "") ?? 1)

  static func note(_ text: String) {
    if environment != nil { print("simulation:", text) }
  }
}
