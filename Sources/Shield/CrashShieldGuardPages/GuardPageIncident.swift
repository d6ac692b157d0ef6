internal import CShimGuardPages

/// An invalid use of a guard slot's memory by this process.
///
/// Equal faults at the same call site are one incident, with the details of the first one. crashd gets the same
/// incidents.
package struct GuardPageIncident: Sendable, Hashable {
  /// The kind of the invalid use.
  package enum Kind: Sendable, Hashable {
    /// A read of the object after it was freed.
    case read
    /// A write to the object after it was freed.
    case write
    /// A second free of the object.
    case doubleFree
    /// A free of an address that is not the start of an allocation.
    case invalidFree
    /// An access past the end of the object.
    case overflow
    /// An access before the start of the object.
    case underflow
    /// A write beside the object, found when it was freed.
    case trampled
  }

  /// A stack: return addresses, innermost first.
  package struct Stack: Sendable, Hashable {
    /// The kernel's thread id; nil if it is unknown, or if the event has not happened.
    package var thread: Int?
    /// At most 16 addresses; empty if the stack is unknown.
    ///
    /// A function without a frame, a suspended async one or one that ended by a tail call appears as its start address
    /// and 1.
    package var frames: [UInt]
  }

  /// The full name of the object's class; empty for memory of no protected class.
  package var className: String
  /// The kind of the invalid use.
  package var kind: Kind
  /// The number of occurrences.
  package var count: Int
  /// Whether this use ends the process.
  package var isFatal: Bool
  /// The address of the object.
  package var object: UInt
  /// The offset of the access from the object's start; negative before it.
  package var offset: Int
  /// The size of the object; nil if it is unknown.
  package var bytes: Int?
  /// The time since the free; nil if the object lives.
  package var age: Duration?
  /// The stack of the invalid use; for an access, the first address is the instruction itself.
  package var use: Stack
  /// The stack that freed the object.
  package var release: Stack
  /// The stack that allocated the object.
  package var allocation: Stack
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
  /// The invalid uses of guarded memory in this process, in no order.
  ///
  /// At most 64 different incidents are kept; `droppedIncidentCount` counts the others. Any thread.
  package static func incidents() -> [GuardPageIncident] {
    var incidents: [GuardPageIncident] = []
    var entry = cs_ring_incident()
    // The C function fills in the structure where it returns true.
    while unsafe cs_pages_incident_at(UInt32(incidents.count), &entry) { incidents.append(GuardPageIncident(entry)) }
    return incidents
  }

  /// The number of distinct incidents dropped because the incident table was full.
  package static var droppedIncidentCount: Int { Int(clamping: cs_pages_incidents_lost()) }
}
