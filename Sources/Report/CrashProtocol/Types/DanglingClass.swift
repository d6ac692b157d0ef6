/// The estimates of one class in one build.
public struct DanglingClass: Codable, Sendable, Equatable {
  /// A probability with its 95 % interval.
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
    /// Deallocations per second in one process.
    public var deallocationsPerSecond: Double
    /// The highest rate between two readings.
    public var highestDeallocationsPerSecond: Double
    /// The capacity of the quarantine in objects.
    public var slots: Double
    /// The memory that they take in one process.
    public var bytes: Double
    /// How long an object stays in quarantine; nil: for ever.
    public var horizonSeconds: Double?
    /// The probability that a use is caught; nil before the first hit.
    public var detection: Probability?
    /// Uses that were caught.
    public var hits: Double
    /// How often a handle was asked for a freed object; nil from an older crashd.
    public var handleMisses: Double?
    /// Uses in all, caught or missed.
    public var estimatedAccesses: Double
    /// The standard deviation of that estimate.
    public var estimatedAccessesDeviation: Double
    /// Uses that were missed.
    public var missed: Double
    /// Crashes that were attributed to the class.
    public var attributedCrashes: Double
    /// Uses per day that the next KiB would catch.
    public var gainPerKiB: Double
    /// The suggested capacity of the quarantine.
    public var suggestedSlots: Int
    /// Call sites that were seen.
    public var groups: Int
    /// The estimated share of uses from call sites not seen yet.
    public var unseenShare: Double

    enum CodingKeys: String, CodingKey {
      case className, build, deallocationsPerSecond, highestDeallocationsPerSecond, slots, bytes, detection, hits
      case handleMisses, estimatedAccesses, missed, attributedCrashes, gainPerKiB, suggestedSlots, groups, unseenShare
      case horizonSeconds = "horizon_s"
      case estimatedAccessesDeviation = "estimatedAccesses_sd"
    }
  }

  /// The user of the processes.
  public var uid: Int
  /// The program's name.
  public var process: String
  /// Its path.
  public var program: String
  /// The figures.
  public var figures: Figures
}
