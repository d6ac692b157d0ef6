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
    /// The lower end.
    public var lower: Double
    /// The upper end.
    public var upper: Double
  }

  /// The estimates and counters.
  public struct Figures: Codable, Sendable, Equatable {
    /// The full name of the class.
    public var className: String
    /// The build id.
    public var build: String
    /// Deallocations per second in one process.
    public var deallocationsPerSecond: Double
    /// The highest rate between two readings.
    public var highestDeallocationsPerSecond: Double
    /// The capacity of the quarantine in objects.
    public var slots: Double
    /// The memory of the quarantined objects in one process.
    public var bytes: Double
    /// The time for which an object stays in quarantine.
    ///
    /// Nil means that it never leaves.
    public var horizonSeconds: Double?
    /// The probability that an access is detected.
    ///
    /// Nil before the first hit.
    public var detection: Probability?
    /// The number of detected accesses.
    public var hits: Double
    /// The number of times a handle's object was already freed when it was requested, or nil from an older crashd.
    public var handleMisses: Double?
    /// The estimated number of accesses, detected or missed.
    public var estimatedAccesses: Double
    /// The standard deviation of the estimated number.
    public var estimatedAccessesDeviation: Double
    /// The estimated number of missed accesses.
    public var missed: Double
    /// The number of crashes that were attributed to the class.
    public var attributedCrashes: Double
    /// The number of additional accesses per day that would be detected with one additional KiB of quarantine.
    public var gainPerKiB: Double
    /// The suggested capacity of the quarantine.
    public var suggestedSlots: Int
    /// The number of known call sites.
    public var groups: Int
    /// The estimated share of accesses from unknown call sites.
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
  /// The path of the program.
  public var program: String
  /// The estimates and counters.
  public var figures: Figures
}
