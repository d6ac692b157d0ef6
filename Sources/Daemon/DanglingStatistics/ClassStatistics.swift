/// The statistics of one class in one build: counters that crashd adds to, and the figures derived from them.
///
/// The value is small, whatever was counted, and can be encoded. Each process of a build has its own value, so that
/// rates and horizons stay those of a process.
public struct ClassStatistics: Sendable, Hashable, Codable {
  /// The way an access was detected.
  public enum HitKind: String, Sendable, Hashable, Codable, CaseIterable {
    /// The object was retained.
    case retain
    /// The object was released.
    case release
    /// A method was called.
    case call
    /// A filled field was used.
    case field
    /// The object's memory was read or written, in a guard page.
    case access
    /// Detected only at eviction: the reference count or the contents had changed.
    case audit
  }

  /// Why an object was not quarantined.
  public enum SkipReason: String, Sendable, Hashable, Codable, CaseIterable {
    /// Other classes used up the budget.
    case budget
    /// The object is larger than its class.
    case size
    /// The lock-free path was busy.
    case contention
    /// The class was being listed or unlisted.
    case changing
  }

  /// The class's name.
  public let className: String
  /// The build's id.
  public let build: String
  /// Deallocations a second of one process.
  public private(set) var deallocations = DeallocationRate()
  /// Objects that were quarantined.
  public private(set) var admitted: Double = 0
  /// Objects that were not, by reason.
  public private(set) var skipped: [SkipReason: Double] = [:]
  /// Accesses that the quarantine or guard pages caught, by kind.
  public private(set) var hits: [HitKind: Double] = [:]
  /// How often a handle was asked for a freed object.
  public var handleMisses: Double { missesOfHandles ?? 0 }
  // Absent in the data of an earlier version.
  private var missesOfHandles: Double?
  /// The delays of the hits.
  public private(set) var delays = DelayDistribution()
  /// The call sites of the hits.
  public private(set) var coverage = GroupCoverage()
  /// The evidence for the budget split.
  public private(set) var evidence = ClassEvidence()
  /// Crashes attributed to the class, by a freed-object record or by the words that a register pointed at.
  public private(set) var attributedCrashes: Double = 0
  /// Days during which hits were counted.
  public private(set) var observed_days: Double = 0
  /// Requests served meanwhile, where the service reports them.
  public private(set) var requests: Double = 0
  /// Bytes that one quarantined object costs.
  public var bytesPerSlot: Double
  /// Slots of the queue and the explorer in one process.
  public var slots: Double

  /// A class without any data.
  public init(className: String, build: String, bytesPerSlot: Double, slots: Double) {
    self.className = className
    self.build = build
    self.bytesPerSlot = bytesPerSlot.amount
    self.slots = slots.amount
  }

  /// How long its objects stay in quarantine at the mean rate.
  public var retention: Retention {
    Retention(slots: slots, deallocationsPerSecond: deallocations.mean)
  }

  /// Adds a reading of the class's counter of deallocations.
  public mutating func readDeallocations(count: UInt64, at time_s: Double) {
    deallocations.read(count: count, at: time_s)
  }

  /// Adds the objects that were and were not quarantined since the last time.
  public mutating func observe(admitted: Double, skipped: [SkipReason: Double]) {
    self.admitted += admitted.amount
    for (reason, count) in skipped { self.skipped[reason, default: 0] += count.amount }
  }

  /// Adds a hit: its kind, its delay, its call site, and how long objects stayed in quarantine in that process at that
  /// time.
  ///
  /// An audit detects an access without its time: it has no delay.
  public mutating func observeHit(kind: HitKind, delay_s: Double?, group: String, retention: Retention? = nil) {
    hits[kind, default: 0] += 1
    coverage.add(group: group)
    guard let delay_s else { return }
    delays.add(delay_s: delay_s, retention: (retention ?? self.retention).probability(after: delay_s))
  }

  /// Records that a handle was asked for a freed object.
  ///
  /// The object was not touched, so this is no access, and no evidence of what the quarantine catches.
  public mutating func observeHandleMiss() { missesOfHandles = handleMisses + 1 }

  /// Adds a crash that was attributed to the class.
  public mutating func observeAttributedCrash() { attributedCrashes += 1 }

  /// Ends a period, such as an hour, with its length, requests and counts, for rates and for the next split.
  public mutating func endPeriod(days: Double, requests: Double, hits: Double, attributedCrashes: Double) {
    observed_days += days.amount
    self.requests += requests.amount
    evidence.observe(
      hits: hits, attributedCrashes: attributedCrashes, expectedShare: delayCurve.share(within: retention.horizon_s),
      periods: days)
  }

  /// The assumed delays, corrected by the measured ones.
  public var delayCurve: DelayCurve { DelayCurve(measured: delays.total.seen > 0 ? delays : nil) }

  /// The class as a candidate for the next split of the budget, its rate sampled from the evidence.
  public func candidate(using generator: inout some RandomNumberGenerator) -> BudgetCandidate {
    candidate(accessRate: evidence.draw(using: &generator))
  }

  func candidate(accessRate: Double) -> BudgetCandidate {
    BudgetCandidate(
      name: className, accessRate: accessRate, deallocationsPerSecond: deallocations.mean, bytesPerSlot: bytesPerSlot,
      delays: delayCurve)
  }
}
