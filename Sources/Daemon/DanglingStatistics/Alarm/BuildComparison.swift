import Glibc

/// Compares the use-after-free crashes of a new build with those of the build that it replaces, while both run.
///
/// If the builds are equal, the probability that an event comes from the new build equals the new build's share of the
/// exposure. The e-value states how much better a higher rate of the new build explains the sequence of events. For
/// equal builds, the mean of the e-value is 1. By Ville's inequality, it then ever exceeds 1/α with a probability of at
/// most α, however often it is checked. The comparison needs no baseline, and a rate that changes for both builds has
/// no effect.
public struct BuildComparison: Sendable, Hashable, Codable {
  /// The logarithms of the likelihood ratios, one for each rise in `ShiryaevRoberts.rises`.
  private var logs = [Double](repeating: 0, count: ShiryaevRoberts.rises.count)
  /// Events of the new build.
  public private(set) var newEvents = 0
  /// Events of the old build.
  public private(set) var oldEvents = 0

  /// Makes a comparison without observations.
  public init() {}

  /// How many times better a rise explains the events than equal builds.
  ///
  /// A value above 100 is an alarm with α = 1 %.
  public var value: Double {
    logs.reduce(0) { $0 + exp(min($1, 600)) } / Double(ShiryaevRoberts.rises.count)
  }

  /// Adds one event, with the new build's share of the exposure at that time.
  ///
  /// With a share of 0 or 1 only one of the builds ran, and the event is ignored.
  public mutating func observe(isNewBuild: Bool, newShare: Double) {
    guard newShare > 0, newShare < 1 else { return }
    if isNewBuild { newEvents += 1 } else { oldEvents += 1 }
    for (index, rise) in ShiryaevRoberts.rises.enumerated() where index < logs.count {
      let risen = rise * newShare / (rise * newShare + 1 - newShare)
      logs[index] += isNewBuild ? log(risen / newShare) : log((1 - risen) / (1 - newShare))
    }
  }
}
