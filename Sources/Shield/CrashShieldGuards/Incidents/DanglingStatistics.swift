public import CrashShield
internal import CShimQuarantine

/// The quarantine's counters for one class since the class was first protected.
public struct DanglingStatistics: Sendable, Hashable {
  /// The full name of the class.
  public var className: String
  /// Whether the class is protected now.
  public var isProtected: Bool
  /// The policy of the class.
  public var policy: DanglingPolicy
  /// The maximum number of objects of the class in quarantine; the quarantine keeps up to a fifth more, chosen at
  /// random.
  public var limit: Int
  /// The size of an object.
  public var instanceBytes: Int
  /// The number of virtual methods whose calls on a deallocated object are detected.
  public var watchedMethods: Int
  /// The number of virtual methods whose calls are not detected, because the metadata of these methods has an unknown
  /// layout.
  public var unwatchedMethods: Int
  /// The number of objects that entered the quarantine.
  public var admitted: Int
  /// The number of objects that left the quarantine.
  public var evicted: Int
  /// The number of use-after-free accesses that the quarantine detected.
  public var hits: Int
  /// The numbers of objects that were not admitted, by reason.
  public var skipped: Skipped

  /// The numbers of objects that were not quarantined but deallocated as usual.
  public struct Skipped: Sendable, Hashable {
    /// The number of objects for which the budget had no room, while the quarantine held no older object of the class
    /// to evict.
    public var budget: Int
    /// The number of objects that were released while other threads used the slots of the class, or while too many
    /// deferred deinits were waiting.
    public var busy: Int
    /// The number of objects that were on the stack, or that had an `unowned` reference and might have been on the
    /// stack.
    public var unowned: Int
    /// The number of objects whose deinit runs on an actor, and had not finished when the object was deallocated.
    public var isolated: Int
  }

  init(_ counts: cs_quarantine_counts) {
    // Invariant: the metadata of a class is never freed.
    className = unsafe Quarantine.name(of: counts.metadata)
    isProtected = unsafe counts.is_listed != 0
    policy = unsafe DanglingPolicy(counts.policy)
    limit = unsafe Int(counts.limit)
    instanceBytes = unsafe Int(counts.instance_bytes)
    watchedMethods = unsafe Int(counts.hooked_methods)
    unwatchedMethods = unsafe Int(counts.unhooked_methods)
    admitted = unsafe Int(clamping: counts.admitted)
    evicted = unsafe Int(clamping: counts.evicted)
    hits = unsafe Int(clamping: counts.hits)
    skipped = unsafe Skipped(
      budget: Int(clamping: counts.skipped_budget), busy: Int(clamping: counts.skipped_busy),
      unowned: Int(clamping: counts.skipped_unowned), isolated: Int(clamping: counts.skipped_isolated))
  }
}

extension Shield {
  /// Returns the use-after-free incidents of this process, in no particular order.
  ///
  /// The shield keeps at most 256 different incidents of objects and 64 of handles. `droppedDanglingIncidentCount`
  /// counts the incidents above these limits. May be called from any thread.
  package static func danglingIncidents() -> [DanglingIncident] {
    var incidents: [DanglingIncident] = []
    var hit = unsafe cs_quarantine_hit()
    while unsafe cs_quarantine_hit_at(UInt32(incidents.count), &hit) { unsafe incidents.append(DanglingIncident(hit)) }
    return incidents + Handles.shared.incidents
  }

  /// The bytes that the quarantine currently holds.
  public static var danglingBytes: Int { Int(clamping: cs_quarantine_bytes()) }

  /// The number of use-after-free incidents dropped because the incident table was full.
  public static var droppedDanglingIncidentCount: Int {
    Int(clamping: cs_quarantine_hits_lost()) + Handles.shared.lost
  }

  /// Returns the counters of each class that is or was protected.
  ///
  /// May be called from any thread.
  public static func danglingStatistics() -> [DanglingStatistics] {
    var statistics: [DanglingStatistics] = []
    var counts = unsafe cs_quarantine_counts()
    while unsafe cs_quarantine_class(UInt32(statistics.count), &counts) {
      unsafe statistics.append(DanglingStatistics(counts))
    }
    return statistics
  }

  /// Returns the counters of this class; nil if it was never protected.
  public static func danglingStatistics(of type: AnyClass) -> DanglingStatistics? {
    let name = _typeName(type, qualified: true)
    return danglingStatistics().first { $0.className == name }
  }
}
