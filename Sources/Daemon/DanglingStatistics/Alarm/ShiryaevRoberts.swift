import Glibc

/// Notices that events became more frequent: the detector of Shiryaev and Roberts, for several rises at once.
///
/// For each rise ρ it sums, over every moment at which the rate might have begun to be ρ times the expected one, how much
/// better that explains the counts since. While nothing changed, the sum minus the days observed is a martingale: the mean
/// time to a false alarm is at least the threshold in days, whatever the rate and however often it is updated. That
/// holds for the mean over several rises too, and for an expectation that is too high; not for one that is too low, and
/// not for events that come in bursts, so count incarnations (`IncarnationCounter`), not crashes.
public struct ShiryaevRoberts: Sendable, Hashable, Codable {
  /// The rises that are looked for; a rise between two of them is found by both.
  public static let rises = [1.5, 2, 3, 5, 10, 20]
  /// Where the sums stop growing, far above any threshold.
  static let ceiling = 1e200

  private(set) var sums = [Double](repeating: 0, count: ShiryaevRoberts.rises.count)

  /// Nothing observed yet.
  public init() {}

  /// The detector's value: compare it with the days that a false alarm may come once in.
  public var value: Double { sums.reduce(0, +) / Double(Self.rises.count) }

  /// Takes a stretch of time: its length, the events expected in it if nothing changed, and those that came.
  public mutating func observe(days: Double, expected: Double, events: Double) {
    let events = events.amount
    let expected = expected.amount
    for (index, rise) in Self.rises.enumerated() where index < sums.count {
      // The exponent is limited so that a burst of a million events is an alarm and not an infinity.
      let ratio = exp(min(events * log(rise) - expected * (rise - 1), 400))
      sums[index] = min((sums[index] + days.amount) * ratio, Self.ceiling)
    }
  }

  /// The probability that the rate has risen, if a rise was expected with this probability a day.
  public func posterior(changesPerDay: Double) -> Double {
    let odds = changesPerDay.amount * value
    return odds / (1 + odds)
  }

  /// Forgets all, as after a switch.
  public mutating func reset() { self = ShiryaevRoberts() }
}
