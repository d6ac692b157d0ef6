public import CrashShield
internal import CShimQuarantine

/// What the quarantine counted of one class since it was first protected.
public struct DanglingStatistics: Sendable, Hashable {
  /// The full name of the class.
  public var className: String
  /// Whether it is protected now.
  public var isProtected: Bool
  /// What becomes of its objects.
  public var policy: DanglingPolicy
  /// How many of its objects are kept at most, besides the explorer's fifth.
  public var limit: Int
  /// How large its objects are.
  public var instanceBytes: Int
  /// How many of its virtual methods are seen when they are called on a dead object.
  public var watchedMethods: Int
  /// How many are not, because its metadata describes them in a way that is not known here.
  public var unwatchedMethods: Int
  /// Objects that came into quarantine.
  public var admitted: Int
  /// Objects that left it.
  public var evicted: Int
  /// Uses of dead objects.
  public var hits: Int
  /// Objects that were not admitted, by reason.
  public var skipped: Skipped

  /// Objects that went the way they always went.
  public struct Skipped: Sendable, Hashable {
    /// The budget was used up, and there was no older object of the class to replace.
    public var budget: Int
    /// Other threads were just there, or the deinits that were put off are behind.
    public var busy: Int
    /// The object was on the stack, or had an `unowned` reference and may have been.
    public var unowned: Int
    /// The deinit runs on its actor, and had not ended.
    public var isolated: Int
  }

  init(_ counts: cs_quarantine_counts) {
    // The metadata of a class lives as long as the process.
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
  /// How this process used objects after their last release, in no order.
  ///
  /// At most 256 different incidents of objects and 64 of handles are kept; `droppedDanglingIncidentCount` counts the others. Any thread.
  public static func danglingIncidents() -> [DanglingIncident] {
    var incidents: [DanglingIncident] = []
    var hit = unsafe cs_quarantine_hit()
    while unsafe cs_quarantine_hit_at(UInt32(incidents.count), &hit) { unsafe incidents.append(DanglingIncident(hit)) }
    return incidents + Handles.shared.incidents
  }

  /// The number of use-after-free incidents dropped because the incident table was full.
  public static var droppedDanglingIncidentCount: Int {
    Int(clamping: cs_quarantine_hits_lost()) + Handles.shared.lost
  }

  /// What was counted of each class that is or was protected.
  ///
  /// Any thread.
  public static func danglingStatistics() -> [DanglingStatistics] {
    var statistics: [DanglingStatistics] = []
    var counts = unsafe cs_quarantine_counts()
    while unsafe cs_quarantine_class(UInt32(statistics.count), &counts) {
      unsafe statistics.append(DanglingStatistics(counts))
    }
    return statistics
  }

  /// What was counted of this class; nil when it was never protected.
  public static func danglingStatistics(of type: AnyClass) -> DanglingStatistics? {
    let name = _typeName(type, qualified: true)
    return danglingStatistics().first { $0.className == name }
  }
}
