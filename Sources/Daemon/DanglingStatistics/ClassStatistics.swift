/// The statistics of one class in one build: the counters that crashd increases, and the values that are computed from
/// them.
///
/// The size of this value does not depend on the number of events. The value can be encoded. Rates and horizons
/// describe one process of the build.
public struct ClassStatistics: Sendable, Hashable, Codable {
  /// The way in which an access was detected.
  public enum HitKind: String, Sendable, Hashable, Codable, CaseIterable {
    /// The object was retained.
    case retain
    /// The object was released.
    case release
    /// A method was called.
    case call
    /// A field that the quarantine had filled was used.
    case field
    /// The program read or wrote the object's memory, which was on a guard page.
    case access
    /// The access was detected only when the object was evicted, because the reference count or the contents had
    /// changed.
    case audit
  }

  /// The reason why an object was not quarantined.
  public enum SkipReason: String, Sendable, Hashable, Codable, CaseIterable {
    /// The objects of other classes had used up the budget.
    case budget
    /// The object is larger than an instance of its class.
    case size
    /// Other threads were using the lock-free path.
    case contention
    /// The class was being added to the list of protected classes, or removed from it.
    case changing
  }

  /// The name of the class.
  public let className: String
  /// The id of the build.
  public let build: String
  /// The rate of deallocations in one process.
  public private(set) var deallocations = DeallocationRate()
  /// The number of objects that were quarantined.
  public private(set) var admitted: Double = 0
  /// The numbers of objects that were not quarantined, by reason.
  public private(set) var skipped: [SkipReason: Double] = [:]
  /// The numbers of accesses that the quarantine or guard pages caught, by kind.
  public private(set) var hits: [HitKind: Double] = [:]
  /// The number of times that a handle was used after its object was deallocated.
  public var handleMisses: Double { missesOfHandles ?? 0 }
  // The value is optional, because data of an earlier version lack this field.
  private var missesOfHandles: Double?
  /// The delays of the hits.
  public private(set) var delays = DelayDistribution()
  /// The call sites of the hits, as groups.
  public private(set) var coverage = GroupCoverage()
  /// The evidence with which the budget is divided.
  public private(set) var evidence = ClassEvidence()
  /// The number of crashes that were attributed to the class.
  ///
  /// A freed-object record, or the memory to which a register points, shows the class of a crash.
  public private(set) var attributedCrashes: Double = 0
  /// The number of days in which hits were counted.
  public private(set) var observed_days: Double = 0
  /// The number of requests that were served on these days, if the service reports requests.
  public private(set) var requests: Double = 0
  /// The bytes of memory for one quarantined object.
  public var bytesPerSlot: Double
  /// The number of slots in the queue and in the explorer of one process.
  public var slots: Double

  /// Makes the statistics of a class without any data.
  public init(className: String, build: String, bytesPerSlot: Double, slots: Double) {
    self.className = className
    self.build = build
    self.bytesPerSlot = bytesPerSlot.amount
    self.slots = slots.amount
  }

  /// How long the objects of the class stay in quarantine, at the mean rate of deallocations.
  public var retention: Retention {
    Retention(slots: slots, deallocationsPerSecond: deallocations.mean)
  }

  /// Adds a reading of the counter of the class's deallocations.
  public mutating func readDeallocations(count: UInt64, at time_s: Double) {
    deallocations.read(count: count, at: time_s)
  }

  /// Adds the numbers of objects that were quarantined and that were skipped since the last call.
  public mutating func observe(admitted: Double, skipped: [SkipReason: Double]) {
    self.admitted += admitted.amount
    for (reason, count) in skipped { self.skipped[reason, default: 0] += count.amount }
  }

  /// Adds a hit with its kind, its delay and its call site.
  ///
  /// `retention` states how long the process kept objects in quarantine at that time. A hit of an audit has no delay,
  /// because the time of the access is unknown.
  public mutating func observeHit(kind: HitKind, delay_s: Double?, group: String, retention: Retention? = nil) {
    hits[kind, default: 0] += 1
    coverage.add(group: group)
    guard let delay_s else { return }
    delays.add(delay_s: delay_s, retention: (retention ?? self.retention).probability(after: delay_s))
  }

  /// Records that a handle was used after its object was deallocated.
  ///
  /// The handle did not access the object. Therefore, this is not a hit and gives no evidence about the quarantine.
  public mutating func observeHandleMiss() { missesOfHandles = handleMisses + 1 }

  /// Adds a crash that was attributed to the class.
  public mutating func observeAttributedCrash() { attributedCrashes += 1 }

  /// Ends a period, such as an hour.
  ///
  /// The length of the period, its requests and its counts are added to the rates and to the evidence for the next
  /// split.
  public mutating func endPeriod(days: Double, requests: Double, hits: Double, attributedCrashes: Double) {
    observed_days += days.amount
    self.requests += requests.amount
    evidence.observe(
      hits: hits, attributedCrashes: attributedCrashes, expectedShare: delayCurve.share(within: retention.horizon_s),
      periods: days)
  }

  /// The assumed distribution of delays, combined with the measured delays.
  public var delayCurve: DelayCurve { DelayCurve(measured: delays.total.seen > 0 ? delays : nil) }

  /// Returns the class as a candidate for the next split of the budget.
  ///
  /// The rate is sampled from the evidence.
  public func candidate(using generator: inout some RandomNumberGenerator) -> BudgetCandidate {
    candidate(accessRate: evidence.draw(using: &generator))
  }

  func candidate(accessRate: Double) -> BudgetCandidate {
    BudgetCandidate(
      name: className, accessRate: accessRate, deallocationsPerSecond: deallocations.mean, bytesPerSlot: bytesPerSlot,
      delays: delayCurve)
  }
}
