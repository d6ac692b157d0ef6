internal import CShimGuardPages

/// A way in which this process used memory of a guard slot that it must not use.
///
/// The same from the same place is one incident; what differs from time to time is of the first. crashd is told the same.
public struct GuardPageIncident: Sendable, Hashable {
  /// What was done.
  public enum Kind: Sendable, Hashable {
    /// An object was read after it was freed.
    case read
    /// It was written after it was freed.
    case write
    /// It was freed again.
    case doubleFree
    /// An address was freed that is not the begin of an allocation.
    case invalidFree
    /// Memory past the end of the object was used.
    case overflow
    /// Memory before its begin was used.
    case underflow
    /// Bytes beside it were written; found when it was freed.
    case trampled
  }

  /// Where a thread was: return addresses, innermost first.
  public struct Stack: Sendable, Hashable {
    /// The kernel's number of the thread; nil when it is not known, or nobody was there yet.
    public var thread: Int?
    /// At most 16 addresses; none when the stack is not known.
    ///
    /// Of a function without a frame, an async one that waits or one that ended by a tail call, stands its begin and 1.
    public var frames: [UInt]
  }

  /// The full name of the object's class; empty for memory that is no object of a protected class.
  public var className: String
  /// What was done.
  public var kind: Kind
  /// How often.
  public var count: Int
  /// Whether the process was to end by it.
  public var isFatal: Bool
  /// Where the object stands.
  public var object: UInt
  /// How many bytes behind the object's begin; negative: before it.
  public var offset: Int
  /// How large the object is; nil when nothing is known of it.
  public var bytes: Int?
  /// The time since it was freed; nil when it lives.
  public var age: Duration?
  /// Who used the memory; where the kind is an access, the first address is the instruction's own.
  public var use: Stack
  /// Who freed the object.
  public var release: Stack
  /// Who allocated it.
  public var allocation: Stack
}

extension GuardPageIncident {
  init(_ entry: cs_ring_incident) {
    let isKnown = entry.flags & CS_RING_INCIDENT_RECORD != 0
    let isFreed = entry.free_tid != 0
    // `subject` and the stacks are arrays in C, tuples in Swift, and hold as many as the counts say.
    className = unsafe withUnsafeBytes(of: entry.subject) { bytes in
      unsafe String(decoding: bytes.prefix(Int(entry.subject_bytes)), as: UTF8.self)
    }
    kind = Kind(cs_ring_pages(rawValue: entry.kind))
    count = Int(clamping: entry.count)
    isFatal = entry.mode == cs_mode.CS_MODE_CRASH.rawValue
    object = UInt(entry.address)
    offset = Int(entry.amount)
    bytes = isKnown ? Int(entry.object_bytes) : nil
    age = isKnown && isFreed ? .nanoseconds(Int64(clamping: entry.age_ns)) : nil
    use = unsafe withUnsafeBytes(of: entry.use) { unsafe Stack(entry.use_tid, $0, count: entry.use_count) }
    // A union of numbers, of which guard pages write this member.
    let stacks = unsafe entry.detail.object
    release = unsafe withUnsafeBytes(of: stacks.free) { unsafe Stack(entry.free_tid, $0, count: entry.free_count) }
    allocation = unsafe withUnsafeBytes(of: stacks.origin) {
      unsafe Stack(entry.origin_tid, $0, count: entry.origin_count)
    }
  }
}

extension GuardPageIncident.Stack {
  fileprivate init(_ thread: Int32, _ frames: UnsafeRawBufferPointer, count: UInt32) {
    self.thread = thread == 0 ? nil : Int(thread)
    // A C array of as many UInt64.
    self.frames = unsafe frames.bindMemory(to: UInt64.self).prefix(Int(count)).map { UInt($0) }
  }
}

extension GuardPageIncident.Kind {
  fileprivate init(_ code: cs_ring_pages?) {
    switch code {
    case .CS_RING_PAGES_WRITE: self = .write
    case .CS_RING_PAGES_DOUBLE_FREE: self = .doubleFree
    case .CS_RING_PAGES_INVALID_FREE: self = .invalidFree
    case .CS_RING_PAGES_OVERFLOW: self = .overflow
    case .CS_RING_PAGES_UNDERFLOW: self = .underflow
    case .CS_RING_PAGES_TRAMPLED: self = .trampled
    default: self = .read
    }
  }
}

extension GuardPages {
  /// How this process used memory of guard slots that it must not use, in no order.
  ///
  /// At most 64 different incidents are kept; `droppedIncidentCount` counts the others. Any thread.
  public static func incidents() -> [GuardPageIncident] {
    var incidents: [GuardPageIncident] = []
    var entry = cs_ring_incident()
    // It fills in the structure where it says so.
    while unsafe cs_pages_incident_at(UInt32(incidents.count), &entry) { incidents.append(GuardPageIncident(entry)) }
    return incidents
  }

  /// The number of distinct incidents dropped because the incident table was full.
  public static var droppedIncidentCount: Int { Int(clamping: cs_pages_incidents_lost()) }
}
