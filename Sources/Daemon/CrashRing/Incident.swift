internal import CShimRing

/// A non-fatal incident, as a part of the shield recorded it.
public struct Incident: Sendable, Equatable {
  /// The part of the shield that recorded it.
  public enum Source: Sendable, Equatable {
    /// Use-after-free of a quarantined object.
    case quarantine
    /// A guard of the program handled a fault.
    case guarding
    /// Memory of a guard page was accessed out of bounds or after free.
    case pages
    /// A trap ended contained work.
    case isolated
    /// A source that this version does not know.
    case other(UInt32)
  }

  /// The reaction.
  public enum Mode: Sendable, Equatable {
    /// The program continued normally.
    case absorb
    /// The program got zeros.
    case zero
    /// The program got values that no pointer has.
    case diagnose
    /// None.
    case observe
    /// The process was to crash.
    case crash
    /// A mode that this version does not know.
    case other(UInt32)
  }

  /// Stable across readings of this ring.
  public var key: UInt64
  /// The part of the shield that recorded it.
  public var source: Source
  /// The kind, as the source numbers it: `cs_ring_dangling` for the quarantine, `cs_ring_pages` for guard pages,
  /// `cs_ring_contained` for contained work.
  public var kind: UInt32
  /// The reaction.
  public var mode: Mode
  /// The class of the object, the guard's text, or the runtime error message before a trap.
  public var subject: String
  /// The number of occurrences.
  public var count: UInt64
  /// Nanoseconds since 1970 of the first occurrence.
  public var first_ns: UInt64
  /// Nanoseconds since 1970 of the last occurrence.
  public var last_ns: UInt64
  /// The code that a call was meant for, or the address of an access to a guard page; nil for other kinds.
  public var method: UInt64?
  /// The word of the class's metadata that a call went through.
  public var word: UInt32
  /// For objects that were retained more often than released: by how many; for guard pages: the distance from the
  /// object's start.
  public var amount: Int64
  /// The record of the object; nil when it had just left the quarantine.
  public var record: Record?
  /// The thread of the use; nil when unknown.
  public var useTid: Int32?
  /// Return addresses of the use, innermost first.
  ///
  /// For an async caller it is the address where it resumes, the start of a function, plus 1.
  public var use: [UInt64]
  /// The first of them is the instruction itself.
  public var isExact: Bool
  /// The processor state at a trap of contained work; nil for other incidents.
  public var trap: Trap?

  /// Whether it is a freed-object record: at a crash a register had the address of an object that had left the
  /// quarantine.
  ///
  /// `amount` is the sequence of the crash's record.
  public var isFreedRecord: Bool {
    source == .quarantine && kind == cs_ring_dangling.CS_RING_DANGLING_FREED.rawValue
  }

  /// Whether a register of a crash had the address of a quarantined object, under the policy `mode`.
  ///
  /// `amount` is the sequence of the crash's record.
  public var isHeld: Bool {
    source == .quarantine && kind == cs_ring_dangling.CS_RING_DANGLING_HELD.rawValue
  }

  /// Whether it belongs to a crash, and is no use of an object by itself.
  public var isOfCrash: Bool { isFreedRecord || isHeld }

  /// The processor state at a trap.
  public struct Trap: Sendable, Equatable {
    /// The general registers by DWARF number, without the program counter, which `use` begins with.
    public var registers: [UInt64]
    /// The flags register.
    public var flags: UInt64
  }

  /// The quarantine's record of an object.
  public struct Record: Sendable, Equatable {
    /// The number in the poison of the object's fields.
    public var id: UInt32
    /// The object's address.
    public var address: UInt64
    /// The time between the last release and the first use.
    public var age_ns: UInt64
    /// The object was one of those that are evicted at random.
    public var isExplorer: Bool
    /// The thread that released it last.
    public var tid: Int32
    /// Return addresses of that release, innermost first; empty when unknown.
    public var stack: [UInt64]
    /// The object's size; 0 when unknown.
    public var bytes: UInt32
    /// The thread that allocated it; nil when unknown.
    public var originTid: Int32?
    /// Return addresses of the allocation, innermost first.
    public var origin: [UInt64]
  }
}

/// A class that is or was protected, with its counters since then.
public struct ProtectedClass: Sendable, Equatable {
  /// The full name; of a very long one only the end.
  public var name: String
  /// Whether it is protected now.
  public var isProtected: Bool
  /// The quarantine's policy for its objects.
  public var mode: Incident.Mode
  /// The capacity of the quarantine for its objects.
  public var limit: UInt32
  /// The size of an instance.
  public var instanceBytes: UInt32
  /// Objects that entered the quarantine.
  public var admitted: UInt64
  /// Objects that left it, each with a freed-object record.
  public var evicted: UInt64
  /// Use-after-free incidents.
  public var hits: UInt64
  /// Objects that were not quarantined: no budget, no free slot in time, an unowned reference, a deinit on an executor.
  public var skipped: Skipped

  /// Objects that were not quarantined, by reason.
  public struct Skipped: Sendable, Equatable {
    /// The budget was used up.
    public var budget: UInt64
    /// No slot could be allocated in time.
    public var busy: UInt64
    /// The object had an unowned reference, or was on the stack.
    public var unowned: UInt64
    /// Its deinit had not ended.
    public var isolated: UInt64
  }
}
