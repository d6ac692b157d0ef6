public import CrashShield
internal import CShimRing

extension Shield {
  /// A fault that a part of the shield recorded: a guard, the quarantine, a guard page or isolated work.
  ///
  /// Faults of the same kind, subject and stack are one incident, with the details of the first fault. crashd also
  /// receives these incidents (`crashctl incidents`).
  public struct Incident: Sendable, Hashable {
    /// The kind of the fault, which also says which part of the shield recorded it.
    public enum Kind: Sendable, Hashable {
      /// A guarded operation, or an implicit guard.
      case guarded(ShieldKind)
      /// A use-after-free of a quarantined object, or through a `ShieldHandle`.
      case useAfterFree(Access)
      /// An invalid access to a guard page.
      case guardPage(Access)
      /// A trap in work of `Shield.isolated`.
      case containedTrap
      /// A kind that this version of the library does not define.
      case unknown

      /// The name of the kind in crashd and in reports.
      public var name: String {
        switch self {
        case .guarded(let kind): kind.name
        case .useAfterFree(let access), .guardPage(let access): "\(access)"
        case .containedTrap: "trap"
        case .unknown: "unknown"
        }
      }
    }

    /// An invalid access to an object.
    public enum Access: Sendable, Hashable {
      /// A call of a virtual method, getter or setter.
      case call
      /// A call of a virtual async method.
      case asyncCall
      /// A release of an object that has no references left.
      case overRelease
      /// Excess retains; detected when the object left the quarantine.
      case retains
      /// A read of the object after it was freed.
      case read
      /// A write to the object after it was freed.
      case write
      /// A `ShieldHandle` that was resolved after its object was deallocated.
      case handle
      /// A second free of the same memory.
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

    /// The reaction of the shield.
    public enum Mode: Sendable, Hashable {
      /// The fault was absorbed: the program continued with a fallback value, or with the unchanged object.
      case absorb
      /// The fields of the object were set to empty values at its last release.
      case zero
      /// The fields of the object were filled with a value that is not a valid pointer, at its last release.
      case diagnose
      /// The fault was recorded but not prevented.
      case observe
    }

    /// A stack: return addresses, innermost first.
    public struct Stack: Sendable, Hashable {
      /// The kernel's thread id; nil if it is unknown.
      public var thread: Int?
      /// At most 16 addresses, including addresses of the runtime; empty if the stack is unknown.
      ///
      /// Some functions appear as their start address plus 1: functions without a frame, suspended async functions, and
      /// functions that ended with a tail call.
      public var frames: [UInt]
    }

    /// The kind of the fault.
    public var kind: Kind
    /// The reaction of the shield.
    public var mode: Mode
    /// The class of the object; for a guard, its file and reason; for a contained trap, the runtime error message.
    public var subject: String
    /// The line of a guard at a call site; nil for other kinds.
    public var line: Int?
    /// The number of occurrences.
    public var count: Int
    /// The address of the object; nil if there is none, or if it is unknown.
    public var object: UInt?
    /// The offset of an access to a guard page from the object's start, or the number of excess retains; nil for other
    /// kinds.
    public var amount: Int?
    /// The size of the object on a guard page; nil if it is unknown.
    public var bytes: Int?
    /// The time between the last release and the access; nil if it is unknown.
    public var age: Duration?
    /// The stack of the fault.
    public var use: Stack
    /// The stack of the last release; empty if there was none.
    public var release: Stack
    /// The stack that allocated the object; empty if it is unknown.
    public var allocation: Stack
  }
}

extension Shield.Incident {
  /// Reads an entry of this process's ring.
  init(_ entry: cs_ring_incident) {
    let hasRecord = entry.flags & CS_RING_INCIDENT_RECORD != 0
    // In the entry of a trap, registers and further frames use the space that other entries use for the object's
    // stacks.
    let isTrap = entry.flags & CS_RING_INCIDENT_TRAP != 0
    let isPages = entry.source == cs_ring_incident_source.CS_RING_INCIDENT_PAGES.rawValue
    kind = Kind(source: entry.source, kind: entry.kind)
    mode = Mode(entry.mode)
    // `subject` and the stacks are C arrays (tuples in Swift). Invariant: the counts give the number of valid elements.
    subject = unsafe withUnsafeBytes(of: entry.subject) { bytes in
      unsafe String(decoding: bytes.prefix(Int(entry.subject_bytes)), as: UTF8.self)
    }
    if case .guarded = kind, entry.word != 0 { line = Int(entry.word) }
    count = Int(clamping: entry.count)
    object = hasRecord || isPages ? UInt(entry.address) : nil
    amount = (isPages || entry.amount != 0) && !isTrap ? Int(entry.amount) : nil
    bytes = entry.object_bytes == 0 ? nil : Int(entry.object_bytes)
    age = hasRecord && entry.free_tid != 0 ? .nanoseconds(Int64(clamping: entry.age_ns)) : nil
    use = unsafe withUnsafeBytes(of: entry.use) { unsafe Stack(entry.use_tid, $0, count: entry.use_count) }
    // Invariant: all members of the union consist of numbers, for which any bytes are valid.
    let stacks = unsafe entry.detail.object
    release = unsafe withUnsafeBytes(of: stacks.free) {
      unsafe Stack(entry.free_tid, $0, count: isTrap ? 0 : entry.free_count)
    }
    allocation = unsafe withUnsafeBytes(of: stacks.origin) {
      unsafe Stack(entry.origin_tid, $0, count: isTrap ? 0 : entry.origin_count)
    }
  }
}

extension Shield.Incident.Stack {
  fileprivate init(_ thread: Int32, _ frames: UnsafeRawBufferPointer, count: UInt32) {
    self.thread = thread == 0 ? nil : Int(thread)
    // Invariant: the C array consists of UInt64, of which `count` are valid.
    self.frames = unsafe frames.bindMemory(to: UInt64.self).prefix(Int(count)).map { UInt($0) }
  }
}

extension Shield.Incident.Mode {
  fileprivate init(_ code: UInt32) {
    switch cs_mode(rawValue: code) {
    case .CS_MODE_ZERO: self = .zero
    case .CS_MODE_DIAGNOSE: self = .diagnose
    case .CS_MODE_OBSERVE: self = .observe
    default: self = .absorb
    }
  }
}

extension Shield.Incident.Kind {
  fileprivate init(source: UInt32, kind: UInt32) {
    switch cs_ring_incident_source(rawValue: source) {
    case .CS_RING_INCIDENT_GUARD: self = ShieldKind(rawValue: UInt8(clamping: kind)).map { .guarded($0) } ?? .unknown
    case .CS_RING_INCIDENT_QUARANTINE: self = Self.quarantine(kind).map { .useAfterFree($0) } ?? .unknown
    case .CS_RING_INCIDENT_PAGES: self = Self.pages(kind).map { .guardPage($0) } ?? .unknown
    case .CS_RING_INCIDENT_CONTAINED: self = .containedTrap
    default: self = .unknown
    }
  }

  private static func quarantine(_ kind: UInt32) -> Shield.Incident.Access? {
    switch cs_ring_dangling(rawValue: kind) {
    case .CS_RING_DANGLING_CALL: .call
    case .CS_RING_DANGLING_ASYNC_CALL: .asyncCall
    case .CS_RING_DANGLING_OVER_RELEASE: .overRelease
    case .CS_RING_DANGLING_DRIFT: .retains
    case .CS_RING_DANGLING_WRITE: .write
    case .CS_RING_DANGLING_HANDLE: .handle
    default: nil
    }
  }

  private static func pages(_ kind: UInt32) -> Shield.Incident.Access? {
    switch cs_ring_pages(rawValue: kind) {
    case .CS_RING_PAGES_READ: .read
    case .CS_RING_PAGES_WRITE: .write
    case .CS_RING_PAGES_DOUBLE_FREE: .doubleFree
    case .CS_RING_PAGES_INVALID_FREE: .invalidFree
    case .CS_RING_PAGES_OVERFLOW: .overflow
    case .CS_RING_PAGES_UNDERFLOW: .underflow
    case .CS_RING_PAGES_TRAMPLED: .trampled
    default: nil
    }
  }
}
