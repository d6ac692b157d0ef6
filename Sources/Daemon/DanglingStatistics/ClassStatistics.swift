/// The statistics of one class in one build, with counters to which crashd adds and figures that are derived from them.
///
/// The size of the value does not depend on the number of events, and the value can be encoded. Rates and horizons are
/// those of one process of the build.
public struct ClassStatistics: Sendable, Hashable, Codable {
  /// How an access was detected.
  public enum HitKind: String, Sendable, Hashable, Codable, CaseIterable {
    /// The object was retained.
    case retain
    /// The object was released.
    case release
    /// A method was called.
    case call
    /// A field that the quarantine had filled was used.
    case field
    /// The object's memory was read or written, in a guard page.
    case access
    /// The access was detected only at eviction, because the reference count or the contents had changed.
    case audit
  }

  /// Why an object was not quarantined.
  public enum SkipReason: String, Sendable, Hashable, Codable, CaseIterable {
    /// Other classes had used up the budget.
    case budget
    /// The object is larger than an instance of its class.
    case size
    /// The lock-free path was busy.
    case contention
    /// The class was being listed or unlisted.
    case changing
  }

  /// The name of the class.
  public let className: String
  /// The id of the build.
  public let build: String
  /// The deallocations per second of one process.
  public private(set) var deallocations = DeallocationRate()
  /// The objects that were quarantined.
  public private(set) var admitted: Double = 0
  /// The objects that were not quarantined, by reason.
  public private(set) var skipped: [SkipReason: Double] = [:]
  /// The accesses that the quarantine or guard pages caught, by kind.
  public private(set) var hits: [HitKind: Double] = [:]
  /// How often a handle was used after its object was deallocated.
  public var handleMisses: Double { missesOfHandles ?? 0 }
  // Optional, because data of an earlier version lacks this field.
  private var missesOfHandles: Double?
  /// The delays of the hits.
  public private(set) var delays = DelayDistribution()
  /// The call sites of the hits.
  public private(set) var coverage = GroupCoverage()
  /// The evidence for the budget split.
  public private(set) var evidence = ClassEvidence()
  /// The crashes attributed to the class, by a freed-object record or by the memory at which a register pointed.
  public private(set) var attributedCrashes: Double = 0
  /// The days during which hits were counted.
  public private(set) var observed_days: Double = 0
  /// The requests served during these days, if the service reports them.
  public private(set) var requests: Double = 0
  /// The bytes that one quarantined object costs.
  public var bytesPerSlot: Double
  /// The slots of the queue and the explorer in one process.
  public var slots: Double

  /// Makes the statistics of a class without any data.
  public init(className: String, build: String, bytesPerSlot: Double, slots: Double) {
    self.className = className
    self.build = build
    self.bytesPerSlot = bytesPerSlot.amount
    self.slots = slots.amount
  }

  /// How long the objects of the class stay in quarantine at the mean rate of deallocations.
  public var retention: Retention {
    Retention(slots: slots, deallocationsPerSecond: deallocations.mean)
  }

  /// Adds a reading of the class's counter of deallocations.
  public mutating func readDeallocations(count: UInt64, at time_s: Double) {
    deallocations.read(count: count, at: time_s)
  }

  /// Adds the objects that were quarantined and those that were skipped since the last call.
  public mutating func observe(admitted: Double, skipped: [SkipReason: Double]) {
    self.admitted += admitted.amount
    for (reason, count) in skipped { self.skipped[reason, default: 0] += count.amount }
  }

  /// Adds a hit with its kind, its delay, its call site, and how long objects stayed in quarantine in that process at
  /// that time.
  ///
  /// A hit by an audit has no delay, because an audit does not detect the time of the access.
  public mutating func observeHit(kind: HitKind, delay_s: Double?, group: String, retention: Retention? = nil) {
    hits[kind, default: 0] += 1
    coverage.add(group: group)
    guard let delay_s else { return }
    delays.add(delay_s: delay_s, retention: (retention ?? self.retention).probability(after: delay_s))
  }

  /// Records that a handle was used after its object was deallocated.
  ///
  /// The object was not touched. This is therefore not an access, and not evidence about the quarantine.
  public mutating func observeHandleMiss() { missesOfHandles = handleMisses + 1 }

  /// Adds a crash that was attributed to the class.
  public mutating func observeAttributedCrash() { attributedCrashes += 1 }

  /// Ends a period, such as an hour, and adds its length, requests and counts to the rates and to the evidence for the
  /// next split.
  public mutating func endPeriod(days: Double, requests: Double, hits: Double, attributedCrashes: Double) {
    observed_days += days.amount
    self.requests += requests.amount
    evidence.observe(
      hits: hits, attributedCrashes: attributedCrashes, expectedShare: delayCurve.share(within: retention.horizon_s),
      periods: days)
  }

  /// The assumed delays, corrected by the measured delays.
  public var delayCurve: DelayCurve { DelayCurve(measured: delays.total.seen > 0 ? delays : nil) }

  /// The class as a candidate for the next split of the budget, with a rate that is sampled from the evidence.
  public func candidate(using generator: inout some RandomNumberGenerator) -> BudgetCandidate {
    candidate(accessRate: evidence.draw(using: &generator))
  }

  func candidate(accessRate: Double) -> BudgetCandidate {
    BudgetCandidate(
      name: className, accessRate: accessRate, deallocationsPerSecond: deallocations.mean, bytesPerSlot: bytesPerSlot,
      delays: delayCurve)
  }
}
