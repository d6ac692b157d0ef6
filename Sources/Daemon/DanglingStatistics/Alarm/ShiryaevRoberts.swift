import Glibc

/// Detects that events became more frequent, by the method of Shiryaev and Roberts, for several rises at once.
///
/// A rise is a factor ρ between the new rate and the expected rate. For each rise, the detector considers every time at
/// which the rate may have changed. For each of these times, a likelihood ratio states how much better the change
/// explains the counts since that time. The detector sums these ratios. While the rate has not changed, the sum minus
/// the observed days is a martingale. The mean time to a false alarm is therefore at least the threshold in days. This
/// holds for any rate and any number of updates.
///
/// The guarantee also holds for the mean over several rises, and if the expected rate is too high. It does not hold if
/// the expected rate is too low, or if events come in bursts. Therefore, count incarnations (`IncarnationCounter`) and
/// not crashes.
public struct ShiryaevRoberts: Sendable, Hashable, Codable {
  /// The factors by which the detector searches for a higher rate.
  ///
  /// A factor between two of these values is detected with both of them.
  public static let rises = [1.5, 2, 3, 5, 10, 20]
  /// The upper limit of the sums, which is far above any threshold.
  static let ceiling = 1e200

  private(set) var sums = [Double](repeating: 0, count: ShiryaevRoberts.rises.count)

  /// Makes a detector without observations.
  public init() {}

  /// The value of the detector.
  ///
  /// Compare the value with the accepted mean number of days between two false alarms.
  public var value: Double { sums.reduce(0, +) / Double(Self.rises.count) }

  /// Adds a period of time, with its length, the number of events that were expected at an unchanged rate, and the
  /// actual number of events.
  public mutating func observe(days: Double, expected: Double, events: Double) {
    let events = events.amount
    let expected = expected.amount
    for (index, rise) in Self.rises.enumerated() where index < sums.count {
      // Limit the exponent, because a burst of a million events must give a finite value.
      let ratio = exp(min(events * log(rise) - expected * (rise - 1), 400))
      sums[index] = min((sums[index] + days.amount) * ratio, Self.ceiling)
    }
  }

  /// The probability that the rate has risen.
  ///
  /// The prior probability of a rise on one day is `changesPerDay`.
  public func posterior(changesPerDay: Double) -> Double {
    let odds = changesPerDay.amount * value
    return odds / (1 + odds)
  }

  /// Removes all observations.
  ///
  /// Call this function after the level has changed, for example.
  public mutating func reset() { self = ShiryaevRoberts() }
}
