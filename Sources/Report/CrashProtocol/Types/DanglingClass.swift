/// The estimated use-after-free risk for one class in one build.
public struct DanglingClass: Codable, Sendable, Equatable {
  /// An estimated probability with its 95 % confidence interval.
  public struct Probability: Codable, Sendable, Equatable {
    /// The estimated probability.
    public var estimate: Double
    /// The 95 % confidence interval of the probability.
    public var interval: Bounds
  }

  /// A confidence interval.
  public struct Bounds: Codable, Sendable, Equatable {
    /// The lower end of the confidence interval.
    public var lower: Double
    /// The upper end of the confidence interval.
    public var upper: Double
  }

  /// The estimates and counters of the class.
  public struct Figures: Codable, Sendable, Equatable {
    /// The full name of the class.
    public var className: String
    /// The build id of the program.
    public var build: String
    /// The number of deallocations per second in one process.
    public var deallocationsPerSecond: Double
    /// The highest rate of deallocations that was measured between two readings.
    public var highestDeallocationsPerSecond: Double
    /// The maximum number of quarantined objects of the class in one process.
    public var slots: Double
    /// The memory of the quarantined objects in one process, in bytes.
    public var bytes: Double
    /// The mean time for which an object stays in the quarantine.
    ///
    /// Nil means that an object never leaves the quarantine.
    public var horizonSeconds: Double?
    /// The probability that the quarantine detects an access to a freed object of the class.
    ///
    /// The value is nil before the first detected access.
    public var detection: Probability?
    /// The number of detected accesses.
    public var hits: Double
    /// How often the program resolved a `ShieldHandle` whose object was already freed.
    ///
    /// The value is nil in replies of a crashd version without this property.
    public var handleMisses: Double?
    /// The estimated number of accesses, both detected and missed.
    public var estimatedAccesses: Double
    /// The standard deviation of the estimated number of accesses.
    public var estimatedAccessesDeviation: Double
    /// The estimated number of missed accesses.
    public var missed: Double
    /// The number of crashes that the statistics attribute to the class.
    public var attributedCrashes: Double
    /// The number of additional accesses per day that one more KiB of quarantine would detect.
    public var gainPerKiB: Double
    /// The suggested maximum number of quarantined objects of the class in one process.
    public var suggestedSlots: Int
    /// The number of call sites of the detected accesses.
    public var groups: Int
    /// The estimated share of accesses that come from unknown call sites.
    public var unseenShare: Double

    enum CodingKeys: String, CodingKey {
      case className, build, deallocationsPerSecond, highestDeallocationsPerSecond, slots, bytes, detection, hits
      case handleMisses, estimatedAccesses, missed, attributedCrashes, gainPerKiB, suggestedSlots, groups, unseenShare
      case horizonSeconds = "horizon_s"
      case estimatedAccessesDeviation = "estimatedAccesses_sd"
    }
  }

  /// The user ID of the program's processes.
  public var uid: Int
  /// The name of the program.
  public var process: String
  /// The path of the program's executable.
  public var program: String
  /// The estimates and counters of the class.
  public var figures: Figures
}
