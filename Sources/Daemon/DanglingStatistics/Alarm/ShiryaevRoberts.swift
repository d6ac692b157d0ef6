import Glibc

/// Detects that events have become more frequent, by the method of Shiryaev and Roberts.
///
/// The detector tests for several rises at once.
///
/// A rise is a factor: the ratio ρ of the new rate to the expected rate. For each factor, the detector considers every
/// time at which the rate could have changed. For each of these times, a likelihood ratio states how much better the
/// change explains the counts since that time. For each factor, the detector computes the sum of these ratios. As long
/// as the rate has not changed, the sum minus the number of observed days is a martingale. Therefore, if the caller
/// raises an alarm when the sum exceeds a threshold, the mean time to a false alarm is at least the threshold, in days.
/// This guarantee holds for any rate and any number of updates.
///
/// The guarantee also holds for the mean of the sums over several factors, and if the expected rate is higher than the
/// true rate. The guarantee does not hold if the expected rate is lower than the true rate, or if events come in
/// bursts. Crashes come in bursts. Therefore, callers must count the runs of processes that crash (see
/// `IncarnationCounter`), and not the crashes.
public struct ShiryaevRoberts: Sendable, Hashable, Codable {
  /// The rises that the detector tests for: ratios of the new rate to the expected rate.
  ///
  /// A rise between two of these ratios is detected by the sums of both.
  public static let rises = [1.5, 2, 3, 5, 10, 20]
  /// The upper limit of the sums, which prevents an overflow and is far above any threshold.
  static let ceiling = 1e200

  private(set) var sums = [Double](repeating: 0, count: ShiryaevRoberts.rises.count)

  /// Makes a detector without observations.
  public init() {}

  /// The mean of the detector's sums over all factors.
  ///
  /// An alarm occurs if this value exceeds the accepted mean number of days between two false alarms.
  public var value: Double { sums.reduce(0, +) / Double(Self.rises.count) }

  /// Adds a period of time: its length, the number of events expected at an unchanged rate, and the actual number of
  /// events.
  public mutating func observe(days: Double, expected: Double, events: Double) {
    let events = events.amount
    let expected = expected.amount
    for (index, rise) in Self.rises.enumerated() where index < sums.count {
      // Limit the exponent, so that the ratio is finite even for a burst of a million events.
      let ratio = exp(min(events * log(rise) - expected * (rise - 1), 400))
      sums[index] = min((sums[index] + days.amount) * ratio, Self.ceiling)
    }
  }

  /// Returns the estimated probability that the rate has risen.
  ///
  /// `changesPerDay` is the prior probability that the rate rises on one day.
  public func posterior(changesPerDay: Double) -> Double {
    let odds = changesPerDay.amount * value
    return odds / (1 + odds)
  }

  /// Removes all observations.
  ///
  /// Call this function after a change that makes the observations invalid, such as a change of the protection level.
  public mutating func reset() { self = ShiryaevRoberts() }
}
