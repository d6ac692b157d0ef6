import Glibc

/// Tests whether a new build crashes more often than the old build, from their crashes while both builds run.
///
/// The exposure of a build is, for example, the running time of its processes. If both builds have the same crash rate,
/// the probability that a crash comes from the new build equals the new build's share of the exposure. The e-value
/// states how many times better a higher rate of the new build explains the sequence of crashes. If the rates are the
/// same, the mean of the e-value is 1, and by Ville's inequality, the probability that the e-value ever exceeds 1/α is
/// at most α. This bound also holds if the e-value is checked after each crash. The comparison needs no known usual
/// rate, and a change of conditions that affects both builds equally does not affect it.
public struct BuildComparison: Sendable, Hashable, Codable {
  /// The ratios of the new build's crash rate to the old build's that the comparison tests for.
  ///
  /// The value nil means `ShiryaevRoberts.rises`, as in all states that earlier versions stored.
  private var ownRises: [Double]?
  /// The logarithms of the likelihood ratios, one for each element of `rises`.
  private var logs: [Double]
  /// The number of observed crashes of the new build.
  public private(set) var newEvents = 0
  /// The number of observed crashes of the old build.
  public private(set) var oldEvents = 0

  /// Makes a comparison without observations.
  public init() { logs = [Double](repeating: 0, count: ShiryaevRoberts.rises.count) }

  /// Makes a comparison without observations that tests for the given ratios of the new build's crash rate to the old
  /// build's.
  public init(rises: [Double]) {
    ownRises = rises
    logs = [Double](repeating: 0, count: rises.count)
  }

  private var rises: [Double] { ownRises ?? ShiryaevRoberts.rises }

  /// The e-value: how many times better a higher rate of the new build explains the crashes than equal rates of both
  /// builds do.
  ///
  /// If a false alarm is accepted with the probability α, a value above 1/α is an alarm: for example, a value above 100
  /// for α = 0.01.
  public var value: Double {
    logs.reduce(0) { $0 + exp(min($1, 600)) } / Double(rises.count)
  }

  /// Adds one crash, with the new build's share of the exposure at the time of the crash.
  ///
  /// If the share is 0 or 1, only one build ran, and the crash is ignored.
  public mutating func observe(isNewBuild: Bool, newShare: Double) {
    observe(new: isNewBuild ? 1 : 0, old: isNewBuild ? 0 : 1, newShare: newShare)
  }

  /// Adds the crashes of a period in which the new build had a constant share of the exposure.
  ///
  /// If the share is 0 or 1, only one build ran, and the crashes are ignored.
  public mutating func observe(new: Int, old: Int, newShare: Double) {
    guard newShare > 0, newShare < 1 else { return }
    newEvents += new
    oldEvents += old
    for (index, rise) in rises.enumerated() where index < logs.count {
      // The likelihood ratio of a crash is `rise / (1 + (rise - 1) * newShare)` if the crash comes from the new build,
      // and `1 / (1 + (rise - 1) * newShare)` otherwise. Both ratios are finite for every share.
      logs[index] += Double(new) * log(rise) - (Double(new) + Double(old)) * log1p((rise - 1) * newShare)
    }
  }
}
