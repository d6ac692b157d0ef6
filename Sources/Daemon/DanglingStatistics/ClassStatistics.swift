/// The use-after-free statistics of one class in one build: counters that crashd increases, and values that are
/// computed from them.
///
/// The size of this value in memory does not depend on the number of events. Rates and horizons (mean times that
/// objects stay in the quarantine's queue) are those of one process of the build.
public struct ClassStatistics: Sendable, Hashable, Codable {
  /// The way in which an access to a deallocated object was detected.
  public enum HitKind: String, Sendable, Hashable, Codable, CaseIterable {
    /// The program retained the object.
    case retain
    /// The program released the object.
    case release
    /// The program called a method of the object.
    case call
    /// The program used a field that the quarantine had filled with a poison value.
    case field
    /// The program read or wrote the object's memory, which was on a guard page.
    case access
    /// The quarantine detected the access only when it evicted the object, because the reference count or the contents
    /// had changed.
    case audit
  }

  /// The reason why a deallocated object was not quarantined.
  public enum SkipReason: String, Sendable, Hashable, Codable, CaseIterable {
    /// The objects of other classes had used up the memory budget.
    case budget
    /// The object is larger than an instance of its class.
    case size
    /// Other threads had locked the slots, or the old object in the slot could not leave it yet.
    ///
    /// An object cannot leave if the queue of the reaper is full or if the object was retained.
    case contention
    /// The entry of this class in the list of protected classes was being changed.
    case changing
  }

  /// The name of the class.
  public let className: String
  /// The ID of the build.
  public let build: String
  /// The estimated rate of deallocations of the class in one process.
  public private(set) var deallocations = DeallocationRate()
  /// The number of objects that were quarantined.
  public private(set) var admitted: Double = 0
  /// The numbers of deallocated objects that were not quarantined, by reason.
  public private(set) var skipped: [SkipReason: Double] = [:]
  /// The numbers of accesses that the quarantine or guard pages caught, by kind.
  public private(set) var hits: [HitKind: Double] = [:]
  /// How often a handle was used after its object was deallocated.
  public var handleMisses: Double { missesOfHandles ?? 0 }
  // The stored value is optional, because data that an earlier version stored does not contain it.
  private var missesOfHandles: Double?
  /// The distribution of the delays of the hits (detected use-after-free accesses).
  public private(set) var delays = DelayDistribution()
  /// The groups of the hits; the hits of one group have the same access kind and call site.
  public private(set) var coverage = GroupCoverage()
  /// The evidence about the access rate with which the budget is divided.
  public private(set) var evidence = ClassEvidence()
  /// The number of crashes that were attributed to the class.
  ///
  /// The class of a crash comes from a freed-object record, or from the memory to which a register points.
  public private(set) var attributedCrashes: Double = 0
  /// The total time in which hits were counted, in days.
  public private(set) var observed_days: Double = 0
  /// The number of requests that the service served in this time, if it reports requests.
  public private(set) var requests: Double = 0
  /// The number of bytes for one quarantined object.
  public var bytesPerSlot: Double
  /// The number of slots in one process: the slots of the queue and of the explorer (the pool with random eviction).
  public var slots: Double

  /// Creates the statistics of a class before any observation.
  public init(className: String, build: String, bytesPerSlot: Double, slots: Double) {
    self.className = className
    self.build = build
    self.bytesPerSlot = bytesPerSlot.amount
    self.slots = slots.amount
  }

  /// The probabilities that an object of the class is still in quarantine after a delay, at the mean rate of
  /// deallocations.
  public var retention: Retention {
    Retention(slots: slots, deallocationsPerSecond: deallocations.mean)
  }

  /// Adds a reading of the counter of the class's deallocations.
  public mutating func readDeallocations(count: UInt64, at time_s: Double) {
    deallocations.read(count: count, at: time_s)
  }

  /// Adds the numbers of objects that the quarantine kept (`admitted`) and did not keep (`skipped`) since the last
  /// call.
  public mutating func observe(admitted: Double, skipped: [SkipReason: Double]) {
    self.admitted += admitted.amount
    for (reason, count) in skipped { self.skipped[reason, default: 0] += count.amount }
  }

  /// Adds a hit with its kind, its delay and its call site.
  ///
  /// The parameter `retention` gives the probability that objects of the process stay in quarantine for a given time,
  /// at the rate of deallocations at the time of the hit. A hit of kind `audit` has no delay, because the quarantine
  /// detects the access only at the eviction, and the time of the access is unknown.
  public mutating func observeHit(kind: HitKind, delay_s: Double?, group: String, retention: Retention? = nil) {
    hits[kind, default: 0] += 1
    coverage.add(group: group)
    guard let delay_s else { return }
    delays.add(delay_s: delay_s, retention: (retention ?? self.retention).probability(after: delay_s))
  }

  /// Records that a handle was used after its object was deallocated.
  ///
  /// The handle did not access the deallocated object. Therefore, the use is not a hit and gives no evidence about the
  /// quarantine.
  public mutating func observeHandleMiss() { missesOfHandles = handleMisses + 1 }

  /// Adds a crash that was attributed to the class.
  public mutating func observeAttributedCrash() { attributedCrashes += 1 }

  /// Ends a period, such as an hour.
  ///
  /// The method adds the length of the period, its requests and its counts to the rates, and to the evidence for the
  /// next split of the budget.
  public mutating func endPeriod(days: Double, requests: Double, hits: Double, attributedCrashes: Double) {
    observed_days += days.amount
    self.requests += requests.amount
    evidence.observe(
      hits: hits, attributedCrashes: attributedCrashes, expectedShare: delayCurve.share(within: retention.horizon_s),
      periods: days)
  }

  /// The assumed distribution of delays, combined with the delays that were measured.
  public var delayCurve: DelayCurve { DelayCurve(measured: delays.total.seen > 0 ? delays : nil) }

  /// Returns the class as a candidate for the next split of the budget.
  ///
  /// The access rate of the candidate is a random sample from the evidence.
  public func candidate(using generator: inout some RandomNumberGenerator) -> BudgetCandidate {
    candidate(accessRate: evidence.draw(using: &generator))
  }

  func candidate(accessRate: Double) -> BudgetCandidate {
    BudgetCandidate(
      name: className, accessRate: accessRate, deallocationsPerSecond: deallocations.mean, bytesPerSlot: bytesPerSlot,
      delays: delayCurve)
  }
}
