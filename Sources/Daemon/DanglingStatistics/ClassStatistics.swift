/// What is known of one class in one build: the counters that crashd adds to, and the figures that follow from them.
///
/// The value is small, whatever it has seen, and can be encoded; those of several processes of a build are one value
/// each, so that rates and horizons stay those of a process.
public struct ClassStatistics: Sendable, Hashable, Codable {
  /// How an access showed itself.
  public enum HitKind: String, Sendable, Hashable, Codable, CaseIterable {
    /// The object was retained.
    case retain
    /// The object was released.
    case release
    /// A method was called.
    case call
    /// A filled field was used.
    case field
    /// The object's memory was read or written, in a guard slot.
    case access
    /// Seen only at eviction: the reference count or the contents had changed.
    case audit
  }

  /// Why an object was not kept.
  public enum SkipReason: String, Sendable, Hashable, Codable, CaseIterable {
    /// The budget was used up by others.
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
  /// Objects that were kept.
  public private(set) var admitted: Double = 0
  /// Objects that were not, by reason.
  public private(set) var skipped: [SkipReason: Double] = [:]
  /// Accesses that were caught, by the quarantine or in guard slots, by kind.
  public private(set) var hits: [HitKind: Double] = [:]
  /// Times that a handle was asked for an object that had gone.
  public var handleMisses: Double { missesOfHandles ?? 0 }
  // Absent in what an earlier version wrote.
  private var missesOfHandles: Double?
  /// When they came.
  public private(set) var delays = DelayDistribution()
  /// The places of use that they came from.
  public private(set) var coverage = GroupCoverage()
  /// What the budget split knows of the class.
  public private(set) var evidence = ClassEvidence()
  /// Crashes that were attributed to the class, by a ghost record or by the words that a register pointed at.
  public private(set) var attributedCrashes: Double = 0
  /// Days during which hits were counted.
  public private(set) var observed_days: Double = 0
  /// Requests that were served meanwhile, where the service says so.
  public private(set) var requests: Double = 0
  /// Bytes that one kept object costs.
  public var bytesPerSlot: Double
  /// Slots of the queue and the explorer in one process.
  public var slots: Double

  /// A class that nothing is known of.
  public init(className: String, build: String, bytesPerSlot: Double, slots: Double) {
    self.className = className
    self.build = build
    self.bytesPerSlot = bytesPerSlot.amount
    self.slots = slots.amount
  }

  /// How long its objects are kept at the mean rate.
  public var retention: Retention {
    Retention(slots: slots, deallocationsPerSecond: deallocations.mean)
  }

  /// Takes a reading of the class's counter of deallocations.
  public mutating func readDeallocations(count: UInt64, at time_s: Double) {
    deallocations.read(count: count, at: time_s)
  }

  /// Takes what the quarantine kept and what not, since the last time.
  public mutating func observe(admitted: Double, skipped: [SkipReason: Double]) {
    self.admitted += admitted.amount
    for (reason, count) in skipped { self.skipped[reason, default: 0] += count.amount }
  }

  /// Takes a hit: its kind, its delay, the place of use, and how long objects were kept in that process at that time.
  ///
  /// An audit finds an access without its time: it has no delay.
  public mutating func observeHit(kind: HitKind, delay_s: Double?, group: String, retention: Retention? = nil) {
    hits[kind, default: 0] += 1
    coverage.add(group: group)
    guard let delay_s else { return }
    delays.add(delay_s: delay_s, retention: (retention ?? self.retention).probability(after: delay_s))
  }

  /// Takes that a handle was asked for an object that had gone.
  ///
  /// The object was not touched, so this is no access, and says nothing about what the quarantine catches.
  public mutating func observeHandleMiss() { missesOfHandles = handleMisses + 1 }

  /// Takes a crash that was attributed to the class.
  public mutating func observeAttributedCrash() { attributedCrashes += 1 }

  /// Ends a period, such as an hour: its length, its requests, and what came in it, for rates and for the next split.
  public mutating func endPeriod(days: Double, requests: Double, hits: Double, attributedCrashes: Double) {
    observed_days += days.amount
    self.requests += requests.amount
    evidence.observe(
      hits: hits, attributedCrashes: attributedCrashes, expectedShare: delayCurve.share(within: retention.horizon_s),
      periods: days)
  }

  /// The assumed delays, corrected by the measured ones.
  public var delayCurve: DelayCurve { DelayCurve(measured: delays.total.seen > 0 ? delays : nil) }

  /// The class as a candidate for the next split of the budget, its rate drawn from what is known.
  public func candidate(using generator: inout some RandomNumberGenerator) -> BudgetCandidate {
    candidate(accessRate: evidence.draw(using: &generator))
  }

  func candidate(accessRate: Double) -> BudgetCandidate {
    BudgetCandidate(
      name: className, accessRate: accessRate, deallocationsPerSecond: deallocations.mean, bytesPerSlot: bytesPerSlot,
      delays: delayCurve)
  }
}
