/// The figures of one class in one build, for a table or a person.
public struct ClassSummary: Sendable, Hashable, Codable {
  /// The class's name.
  public var className: String
  /// The build's id.
  public var build: String
  /// Deallocations per second, on average.
  public var deallocationsPerSecond: Double
  /// The highest rate of deallocations between two readings.
  public var highestDeallocationsPerSecond: Double
  /// Quarantine capacity in objects.
  public var slots: Double
  /// Memory of the quarantined objects in one process.
  public var bytes: Double
  /// How long an object stays in quarantine; nil where none is deallocated, and each stays for ever.
  public var horizon_s: Double?
  /// The probability of catching an access; nil while there are no hits.
  public var detection: DetectionProbability?
  /// Accesses caught.
  public var hits: Double
  /// How often a handle was asked for a freed object; these are no accesses.
  public var handleMisses: Double
  /// Accesses in all, caught or missed, as far as the explorer reaches.
  public var estimatedAccesses: Double
  /// Its standard deviation.
  public var estimatedAccesses_sd: Double
  /// Accesses that were missed.
  public var missed: Double
  /// Crashes attributed to the class.
  public var attributedCrashes: Double
  /// The share of missed accesses that led to a crash; nil while none is estimated to be missed.
  public var crashShare: Double?
  /// Accesses caught per million requests; nil where requests are not counted.
  public var hitsPerMillionRequests: EventRate?
  /// Accesses per day that the next KiB would catch.
  public var gainPerKiB: Double
  /// Slots that would catch nine of ten accesses; before the first hit, those for one second's objects.
  public var suggestedSlots: Int
  /// Call sites that were seen.
  public var groups: Int
  /// The estimated share of accesses from call sites not seen yet.
  public var unseenShare: Double
  /// Hits since the last new call site.
  public var runSinceNewGroup: Int

  /// Computes all figures.
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

/// The rate of rare events, with an interval that is also right for none.
public struct EventRate: Sendable, Hashable, Codable {
  /// Events a unit of exposure.
  public var estimate: Double
  /// The equal-tailed interval of the gamma law with half an event added (Jeffreys' prior).
  public var interval: Interval

  /// Estimates it; nil without exposure.
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
