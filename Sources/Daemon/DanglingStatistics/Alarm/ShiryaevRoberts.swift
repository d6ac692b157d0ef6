import Glibc

/// Detects that events became more frequent, by the method of Shiryaev and Roberts, for several rises at once.
///
/// For each rise ρ, the detector considers every moment at which the rate may have become ρ times the expected rate. It
/// sums how much better each of these changes explains the counts since that moment. While nothing has changed, the sum
/// minus the observed days is a martingale. The mean time to a false alarm is therefore at least the threshold in days,
/// for any rate and any number of updates.
///
/// This guarantee also holds for the mean over several rises, and for an expected rate that is too high. It does not
/// hold for an expected rate that is too low, or for events that come in bursts. For this reason, count incarnations
/// (`IncarnationCounter`) and not crashes.
public struct ShiryaevRoberts: Sendable, Hashable, Codable {
  /// The rises that the detector searches for.
  ///
  /// A rise between two of them is detected by both.
  public static let rises = [1.5, 2, 3, 5, 10, 20]
  /// The upper limit of the sums, far above any threshold.
  static let ceiling = 1e200

  private(set) var sums = [Double](repeating: 0, count: ShiryaevRoberts.rises.count)

  /// Makes a detector without observations.
  public init() {}

  /// The value of the detector.
  ///
  /// Compare it with the accepted mean number of days between two false alarms.
  public var value: Double { sums.reduce(0, +) / Double(Self.rises.count) }

  /// Adds a stretch of time, with its length, the events that were expected if nothing changed, and the actual events.
  public mutating func observe(days: Double, expected: Double, events: Double) {
    let events = events.amount
    let expected = expected.amount
    for (index, rise) in Self.rises.enumerated() where index < sums.count {
      // The exponent is limited, so that a burst of a million events gives a finite value.
      let ratio = exp(min(events * log(rise) - expected * (rise - 1), 400))
      sums[index] = min((sums[index] + days.amount) * ratio, Self.ceiling)
    }
  }

  /// The probability that the rate has risen, if a rise has this prior probability per day.
  public func posterior(changesPerDay: Double) -> Double {
    let odds = changesPerDay.amount * value
    return odds / (1 + odds)
  }

  /// Removes all observations, for example after the level has changed.
  public mutating func reset() { self = ShiryaevRoberts() }
}
