import Foundation

/// The distributions of delays in the Python simulations.
enum DelayLaw {
  case exponential10ms
  case lognormal50ms
  case weibull1s
  case pareto1ms
  case weibull300ms
  case lognormal100ms
  case twoWaves

  func draw(_ generator: inout SeededGenerator) -> Double {
    switch self {
    case .exponential10ms: generator.exponential(mean: 0.01)
    case .lognormal50ms: 0.05 * exp(2 * generator.normal())
    case .weibull1s: generator.weibull(scale: 1, shape: 0.5)
    case .pareto1ms: 1e-3 * pow(generator.uniform(), -1 / 0.7)
    case .weibull300ms: generator.weibull(scale: 0.3, shape: 0.5)
    case .lognormal100ms: 0.1 * exp(1.5 * generator.normal())
    case .twoWaves: generator.exponential(mean: generator.chance(0.6) ? 0.005 : 1.5)
    }
  }

  /// Returns the exact share of accesses whose delay is at most `t` seconds.
  func share(within t: Double) -> Double {
    switch self {
    case .exponential10ms: 1 - exp(-t / 0.01)
    case .lognormal50ms: normalShare(log(t / 0.05) / 2)
    case .weibull1s: 1 - exp(-t.squareRoot())
    case .pareto1ms: t > 1e-3 ? 1 - pow(1e-3 / t, 0.7) : 0
    case .weibull300ms: 1 - exp(-(t / 0.3).squareRoot())
    case .lognormal100ms: normalShare(log(t / 0.1) / 1.5)
    case .twoWaves: 0.6 * (1 - exp(-t / 0.005)) + 0.4 * (1 - exp(-t / 1.5))
    }
  }

  private func normalShare(_ z: Double) -> Double { 0.5 * erfc(-z / 2.0.squareRoot()) }
}
