import Glibc

/// Compares a new build with the one that it replaces while both run, by their use-after-free crashes.
///
/// If the builds are equal, each event comes from the new one with the probability of its share of the exposure. The
/// e-value is how much better some rise explains the sequence of builds that events came from. Its mean is 1 while
/// nothing is different, so it ever exceeds 1/α with a probability of at most α, however often it is looked at (Ville). No
/// baseline is needed, and a rate that moves for both builds changes nothing.
public struct BuildComparison: Sendable, Hashable, Codable {
  /// Logarithms of the likelihood ratios, one a rise of `ShiryaevRoberts.rises`.
  private var logs = [Double](repeating: 0, count: ShiryaevRoberts.rises.count)
  /// Events of the new build.
  public private(set) var newEvents = 0
  /// Events of the old build.
  public private(set) var oldEvents = 0

  /// Nothing observed yet.
  public init() {}

  /// How many times better a rise explains the events than none; above 100 is an alarm with α = 1 %.
  public var value: Double {
    logs.reduce(0) { $0 + exp(min($1, 600)) } / Double(ShiryaevRoberts.rises.count)
  }

  /// Takes one event, and the new build's share of the exposure at the time.
  ///
  /// A share of 0 or 1 says nothing: only one of the builds ran.
  public mutating func observe(isNewBuild: Bool, newShare: Double) {
    guard newShare > 0, newShare < 1 else { return }
    if isNewBuild { newEvents += 1 } else { oldEvents += 1 }
    for (index, rise) in ShiryaevRoberts.rises.enumerated() where index < logs.count {
      let risen = rise * newShare / (rise * newShare + 1 - newShare)
      logs[index] += isNewBuild ? log(risen / newShare) : log((1 - risen) / (1 - newShare))
    }
  }
}
