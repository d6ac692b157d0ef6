/// The estimates of one class in one build.
public struct DanglingClass: Codable, Sendable, Equatable {
  /// A probability and the interval that it lies in with 95 %.
  public struct Probability: Codable, Sendable, Equatable {
    /// The probability.
    public var estimate: Double
    /// The interval.
    public var interval: Bounds
  }

  /// An interval.
  public struct Bounds: Codable, Sendable, Equatable {
    /// Its lower end.
    public var lower: Double
    /// Its upper end.
    public var upper: Double
  }

  /// The figures.
  public struct Figures: Codable, Sendable, Equatable {
    /// The class's full name.
    public var className: String
    /// The build's id.
    public var build: String
    /// Objects that are freed in a second, in one process.
    public var deallocationsPerSecond: Double
    /// The most of them between two looks.
    public var highestDeallocationsPerSecond: Double
    /// How many are kept.
    public var slots: Double
    /// The memory that this takes in one process.
    public var bytes: Double
    /// How long an object is kept; nil: for ever.
    public var horizonSeconds: Double?
    /// How likely a use is caught; nil before the first hit.
    public var detection: Probability?
    /// Uses that were caught.
    public var hits: Double
    /// Times that a handle was asked for an object that had gone; nil where an older crashd does not tell.
    public var handleMisses: Double?
    /// Uses in all, caught or missed.
    public var estimatedAccesses: Double
    /// The standard deviation of that.
    public var estimatedAccessesDeviation: Double
    /// Uses that were missed.
    public var missed: Double
    /// Crashes that were attributed to the class.
    public var attributedCrashes: Double
    /// Uses a day that the next KiB would catch.
    public var gainPerKiB: Double
    /// How many objects should be kept.
    public var suggestedSlots: Int
    /// Places of use that were seen.
    public var groups: Int
    /// The estimated share of uses from places not seen yet.
    public var unseenShare: Double

    enum CodingKeys: String, CodingKey {
      case className, build, deallocationsPerSecond, highestDeallocationsPerSecond, slots, bytes, detection, hits
      case handleMisses, estimatedAccesses, missed, attributedCrashes, gainPerKiB, suggestedSlots, groups, unseenShare
      case horizonSeconds = "horizon_s"
      case estimatedAccessesDeviation = "estimatedAccesses_sd"
    }
  }

  /// Whose processes.
  public var uid: Int
  /// The program's name.
  public var process: String
  /// Its path.
  public var program: String
  /// The figures.
  public var figures: Figures
}
