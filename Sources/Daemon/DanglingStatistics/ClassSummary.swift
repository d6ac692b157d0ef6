/// The values for tables and reports that are computed from the statistics of one class in one build.
public struct ClassSummary: Sendable, Hashable, Codable {
  /// The name of the class.
  public var className: String
  /// The ID of the build.
  public var build: String
  /// The average number of deallocations per second in one process.
  public var deallocationsPerSecond: Double
  /// The highest number of deallocations per second between two readings.
  public var highestDeallocationsPerSecond: Double
  /// The maximum number of objects of the class in the quarantine of one process.
  public var slots: Double
  /// The number of bytes that the quarantined objects take in one process.
  public var bytes: Double
  /// The mean time for which an object stays in the queue of the quarantine; nil if it is infinite because no objects
  /// are deallocated.
  public var horizon_s: Double?
  /// The probability that a use-after-free access is caught; nil if none was caught yet. (A caught access is a *hit*.)
  public var detection: DetectionProbability?
  /// The number of accesses that were caught.
  public var hits: Double
  /// How often a `ShieldHandle` was used after its object was deallocated.
  ///
  /// A handle checks that its object exists, so these uses are not accesses to a deallocated object.
  public var handleMisses: Double
  /// The estimated number of all accesses, caught and missed, whose delay is at most `Retention.reach_s`.
  public var estimatedAccesses: Double
  /// The standard deviation of `estimatedAccesses`.
  public var estimatedAccesses_sd: Double
  /// The estimated number of accesses that the quarantine missed.
  public var missed: Double
  /// The number of crashes that were attributed to the class.
  public var attributedCrashes: Double
  /// The share of missed accesses that led to a crash; nil if the estimated number of missed accesses is 0.
  public var crashShare: Double?
  /// The number of caught accesses per million requests; nil if requests are not counted.
  public var hitsPerMillionRequests: EventRate?
  /// The number of additional accesses per day that one more KiB of memory would catch.
  public var gainPerKiB: Double
  /// The number of slots that would catch nine of ten accesses.
  ///
  /// Before the first hit, this is the number of objects that are deallocated in one second, within the limits of
  /// `SlotSuggestion`.
  public var suggestedSlots: Int
  /// The number of call sites with hits.
  public var groups: Int
  /// The estimated share of accesses from call sites that have no hit yet.
  public var unseenShare: Double
  /// The number of hits since the last hit whose call site was new.
  public var runSinceNewGroup: Int

  /// Computes all values from the statistics.
  public init(_ statistics: ClassStatistics) {
    let retention = statistics.retention
    let total = statistics.delays.total
    className = statistics.className
    build = statistics.build
    deallocationsPerSecond = statistics.deallocations.mean
    highestDeallocationsPerSecond = statistics.deallocations.maximum
    slots = statistics.slots
    bytes = statistics.slots * statistics.bytesPerSlot
    horizon_s = retention.horizon_s.isFinite ? retention.horizon_s : nil
    detection = DetectionProbability(delays: statistics.delays, retention: retention)
    hits = statistics.hits.values.reduce(0, +)
    handleMisses = statistics.handleMisses
    estimatedAccesses = total.estimate
    estimatedAccesses_sd = total.standardDeviation
    missed = max(0, total.estimate - total.seen)
    attributedCrashes = statistics.attributedCrashes
    crashShare = missed >= 1 ? min(1, attributedCrashes / missed) : nil
    hitsPerMillionRequests = EventRate(events: hits, exposure: statistics.requests / 1e6)
    gainPerKiB = statistics.candidate(accessRate: statistics.evidence.mean).gainPerKiB(slots: statistics.slots)
    suggestedSlots =
      SlotSuggestion.slots(
        catching: 0.9, delays: statistics.delays, deallocationsPerSecond: deallocationsPerSecond)
      ?? SlotSuggestion.initial(deallocationsPerSecond: deallocationsPerSecond)
    groups = statistics.coverage.groups
    unseenShare = statistics.coverage.unseenShare
    runSinceNewGroup = statistics.coverage.runSinceNewGroup
  }
}

/// The rate of rare events, with a confidence interval that is valid even for zero events.
public struct EventRate: Sendable, Hashable, Codable {
  /// The number of events per unit of exposure.
  public var estimate: Double
  /// The equal-tailed interval of the gamma distribution, with half an event added (Jeffreys' prior).
  public var interval: Interval

  /// Estimates the rate; nil if the exposure is 0.
  public init?(events: Double, exposure: Double, confidence: Double = 0.95) {
    guard exposure.amount > 0 else { return nil }
    let events = events.amount
    let tail = (1 - confidence.probability) / 2
    estimate = events / exposure
    interval = Interval(
      lower: events > 0 ? Gamma.quantile(tail, shape: events + 0.5) / exposure : 0,
      upper: Gamma.quantile(1 - tail, shape: events + 0.5) / exposure)
  }
}
