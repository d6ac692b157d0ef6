internal import CShimRing

/// A non-fatal incident, as recorded by a part of the shield.
public struct Incident: Sendable, Equatable {
  /// The part of the shield that recorded it.
  public enum Source: Sendable, Equatable {
    /// Use-after-free of a quarantined object.
    case quarantine
    /// A guard of the program handled a fault.
    case guarding
    /// Memory of a guard page was accessed out of bounds or after it was freed.
    case pages
    /// A trap ended contained work but not the process.
    case isolated
    /// A source that this version of crashd does not define.
    case other(UInt32)
  }

  /// The reaction of the shield to the incident.
  public enum Mode: Sendable, Equatable {
    /// The program continued normally.
    case absorb
    /// The program read zeros.
    case zero
    /// The program read values that are never valid pointers.
    case diagnose
    /// No reaction.
    case observe
    /// The process was meant to crash.
    case crash
    /// A mode that this version of crashd does not define.
    case other(UInt32)
  }

  /// Identifies the incident in its ring, and is stable across readings.
  public var key: UInt64
  /// The part of the shield that recorded the incident.
  public var source: Source
  /// The kind, whose meaning depends on the source: `cs_ring_dangling` for the quarantine, `cs_ring_pages` for guard
  /// pages, `cs_ring_contained` for contained work.
  public var kind: UInt32
  /// The reaction.
  public var mode: Mode
  /// The class of the object, the text of the guard, or the runtime error message before a trap.
  public var subject: String
  /// The number of occurrences.
  public var count: UInt64
  /// Nanoseconds since 1970 of the first occurrence.
  public var first_ns: UInt64
  /// Nanoseconds since 1970 of the last occurrence.
  public var last_ns: UInt64
  /// The target of a call, or the address of an access to a guard page; nil for other kinds.
  public var method: UInt64?
  /// The word in the class's metadata through which a call was made.
  public var word: UInt32
  /// How many more retains than releases an object had, or for guard pages the distance of the access from the object's
  /// start.
  public var amount: Int64
  /// The record of the object; nil if the object had just left the quarantine.
  public var record: Record?
  /// The thread of the use; nil if unknown.
  public var useTid: Int32?
  /// Return addresses of the use, innermost first.
  ///
  /// For an async caller, the address is the start of the function where it resumes, plus 1.
  public var use: [UInt64]
  /// Whether the first address in `use` is the instruction itself and not a return address.
  public var isExact: Bool
  /// The processor state at a trap of contained work; nil for other incidents.
  public var trap: Trap?

  /// Whether this is a freed-object record.
  ///
  /// In that case a register of a crash had the address of an object that had already left the quarantine.
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

  /// Whether the incident belongs to a crash, and is not a use of an object by itself.
  public var isOfCrash: Bool { isFreedRecord || isHeld }

  /// The processor state at a trap.
  public struct Trap: Sendable, Equatable {
    /// The general registers by DWARF number, without the program counter.
    ///
    /// The program counter is the first address in `use`.
    public var registers: [UInt64]
    /// The flags register.
    public var flags: UInt64
  }

  /// The quarantine's record of an object.
  public struct Record: Sendable, Equatable {
    /// The number that the object's poisoned fields contain.
    public var id: UInt32
    /// The object's address.
    public var address: UInt64
    /// The time between the last release and the first use.
    public var age_ns: UInt64
    /// Whether the object was selected for random eviction.
    public var isExplorer: Bool
    /// The thread that made the last release.
    public var tid: Int32
    /// Return addresses of the last release, innermost first; empty if unknown.
    public var stack: [UInt64]
    /// The object's size; 0 if unknown.
    public var bytes: UInt32
    /// The thread that allocated the object; nil if unknown.
    public var originTid: Int32?
    /// Return addresses of the allocation, innermost first.
    public var origin: [UInt64]
  }
}

/// A class that is or was protected, with its counters since the protection began.
public struct ProtectedClass: Sendable, Equatable {
  /// The full name, or only the end of a very long name.
  public var name: String
  /// Whether the class is protected now.
  public var isProtected: Bool
  /// The quarantine's mode for objects of the class.
  public var mode: Incident.Mode
  /// The capacity of the quarantine for objects of the class.
  public var limit: UInt32
  /// The size of an instance.
  public var instanceBytes: UInt32
  /// Objects that entered the quarantine.
  public var admitted: UInt64
  /// Objects that left the quarantine, each with a freed-object record.
  public var evicted: UInt64
  /// Use-after-free incidents.
  public var hits: UInt64
  /// Objects that were not quarantined, by reason: no budget, no free slot in time, an unowned reference, or a deinit
  /// on an executor.
  public var skipped: Skipped

  /// Objects that were not quarantined, by reason.
  public struct Skipped: Sendable, Equatable {
    /// The budget was used up.
    public var budget: UInt64
    /// No slot could be allocated in time.
    public var busy: UInt64
    /// The object had an unowned reference, or was on the stack.
    public var unowned: UInt64
    /// The deinit of the object had not ended.
    public var isolated: UInt64
  }
}
