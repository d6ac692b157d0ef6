internal import CShimGuardPages

/// An invalid use of guarded memory by this process: of a sampled object's own page, or of a guard page next to it.
///
/// Equal faults at the same call site are one incident, with the details of the first fault. crashd also receives these
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
    /// A write next to the object, detected when the object was freed.
    case trampled
  }

  /// A stack: return addresses, innermost first.
  package struct Stack: Sendable, Hashable {
    /// The kernel's thread id; nil if it is unknown, or if the object was not freed.
    package var thread: Int?
    /// At most 16 addresses; empty if the stack is unknown.
    ///
    /// Some functions appear as their start address plus 1: functions without a frame, suspended async functions, and
    /// functions that ended with a tail call.
    package var frames: [UInt]
  }

  /// The full name of the object's class; empty if the memory does not belong to a protected class.
  package var className: String
  /// The kind of the invalid use.
  package var kind: Kind
  /// The number of occurrences.
  package var count: Int
  /// Whether this use ends the process.
  package var isFatal: Bool
  /// The address of the object.
  package var object: UInt
  /// The offset of the access from the object's start; negative if the access is before the object.
  package var offset: Int
  /// The size of the object; nil if it is unknown.
  package var bytes: Int?
  /// The time since the free; nil if the object has not been freed.
  package var age: Duration?
  /// The stack of the invalid use; for an access, the first address is the address of the accessing instruction.
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
    // `subject` and the stacks are C arrays (tuples in Swift). Invariant: the counts give the number of valid elements.
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
    // Invariant: all members of the union consist of numbers, and guard pages write the member `object`.
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
    // Invariant: the C array consists of UInt64, of which `count` are valid.
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
  /// Returns the invalid uses of guarded memory in this process, in no particular order.
  ///
  /// The shield keeps at most 64 different incidents; `droppedIncidentCount` counts the others. May be called from any
  /// thread.
  package static func incidents() -> [GuardPageIncident] {
    var incidents: [GuardPageIncident] = []
    var entry = cs_ring_incident()
    // Invariant: the C function fills in the structure if it returns true.
    while unsafe cs_pages_incident_at(UInt32(incidents.count), &entry) { incidents.append(GuardPageIncident(entry)) }
    return incidents
  }

  /// The number of distinct incidents that were dropped because the incident table was full.
  package static var droppedIncidentCount: Int { Int(clamping: cs_pages_incidents_lost()) }
}
