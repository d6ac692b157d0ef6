internal import CShimRing

/// A non-fatal incident, as the in-process library recorded it.
public struct Incident: Sendable, Equatable {
  /// The part of the in-process library that recorded the incident.
  public enum Source: Sendable, Equatable {
    /// The quarantine detected a use-after-free.
    case quarantine
    /// A guard of the program handled a fault.
    case guarding
    /// Guard pages detected an access out of bounds or after the memory was freed.
    case pages
    /// A trap ended contained work, but not the process.
    case isolated
    /// A source that this version of crashd does not define.
    case other(UInt32)
  }

  /// The reaction of the in-process library to the incident.
  public enum Mode: Sendable, Equatable {
    /// The program continued normally.
    case absorb
    /// The program read zeros.
    case zero
    /// The program read values that are never valid pointers.
    case diagnose
    /// The incident was only recorded.
    case observe
    /// The process was to crash at the incident.
    case crash
    /// A mode that this version of crashd does not define.
    case other(UInt32)
  }

  /// Identifies the incident in its ring.
  ///
  /// The key is the same in every reading of the ring.
  public var key: UInt64
  /// The part of the in-process library that recorded the incident.
  public var source: Source
  /// The kind of the incident.
  ///
  /// The source defines its meaning: `cs_ring_dangling` for the quarantine, `cs_ring_pages` for guard pages,
  /// `cs_ring_contained` for contained work.
  public var kind: UInt32
  /// The reaction of the in-process library.
  public var mode: Mode
  /// Depending on the source: the class of the object, the message of the guard, or the runtime error message of the
  /// trap.
  public var subject: String
  /// The number of occurrences.
  public var count: UInt64
  /// The time of the first occurrence, in nanoseconds since 1970.
  public var first_ns: UInt64
  /// The time of the last occurrence, in nanoseconds since 1970.
  public var last_ns: UInt64
  /// For a call, the address of the called method.
  ///
  /// For guard pages, the accessed address. Nil for other kinds.
  public var method: UInt64?
  /// The index of the vtable word through which a call was made.
  public var word: UInt32
  /// For an object, how many more times it was retained than released after its last release.
  ///
  /// For guard pages, the offset of the access from the start of the object.
  public var amount: Int64
  /// The quarantine's record of the object; nil if the object had just left the quarantine.
  public var record: Record?
  /// The thread that used the object; nil if unknown.
  public var useTid: Int32?
  /// The return addresses of the use, innermost first.
  ///
  /// For an async caller, the entry is the start address of the function in which the caller resumes, plus 1.
  public var use: [UInt64]
  /// Whether the first address in `use` is the address of the instruction itself, and not a return address.
  public var isExact: Bool
  /// The processor state at the trap that ended contained work; nil for other incidents.
  public var trap: Trap?

  /// Whether this incident is a freed-object record.
  ///
  /// It means that a register at a crash contained the address of an object that had already left the quarantine.
  ///
  /// `amount` is the `sequence` of the crash record.
  public var isFreedRecord: Bool {
    source == .quarantine && kind == cs_ring_dangling.CS_RING_DANGLING_FREED.rawValue
  }

  /// Whether a register at a crash contained the address of an object in the quarantine, whose mode is `mode`.
  ///
  /// `amount` is the `sequence` of the crash record.
  public var isHeld: Bool {
    source == .quarantine && kind == cs_ring_dangling.CS_RING_DANGLING_HELD.rawValue
  }

  /// Whether the incident describes a crash, and not a separate use of an object.
  public var isOfCrash: Bool { isFreedRecord || isHeld }

  /// The processor state at a trap.
  public struct Trap: Sendable, Equatable {
    /// The general registers by DWARF number, without the program counter.
    ///
    /// The program counter is in `use` instead, as the first address.
    public var registers: [UInt64]
    /// The flags register.
    public var flags: UInt64
  }

  /// The quarantine's record of one object.
  public struct Record: Sendable, Equatable {
    /// The number that the poisoned fields of the object contain.
    public var id: UInt32
    /// The address of the object.
    public var address: UInt64
    /// The time from the last release to the first use.
    public var age_ns: UInt64
    /// Whether the object was selected for random eviction.
    public var isExplorer: Bool
    /// The thread that made the last release of the object.
    public var tid: Int32
    /// The return addresses of the last release, innermost first; empty if unknown.
    public var stack: [UInt64]
    /// The size of the object in bytes; 0 if unknown.
    public var bytes: UInt32
    /// The thread that allocated the object; nil if unknown.
    public var originTid: Int32?
    /// The return addresses of the allocation, innermost first.
    public var origin: [UInt64]
  }
}

/// A class that is or was protected, with its counters since the protection began.
public struct ProtectedClass: Sendable, Equatable {
  /// The full name; only its end if the name is very long.
  public var name: String
  /// Whether the class is protected now.
  public var isProtected: Bool
  /// The mode of the quarantine for objects of the class.
  public var mode: Incident.Mode
  /// The maximum number of quarantined objects of the class.
  public var limit: UInt32
  /// The size of an instance in bytes.
  public var instanceBytes: UInt32
  /// The number of objects that entered the quarantine.
  public var admitted: UInt64
  /// The number of objects that left the quarantine.
  ///
  /// Each of them has a freed-object record.
  public var evicted: UInt64
  /// The number of use-after-free incidents.
  public var hits: UInt64
  /// The number of objects that were not quarantined, by reason.
  public var skipped: Skipped

  /// The number of objects that were not quarantined, by reason.
  public struct Skipped: Sendable, Equatable {
    /// The memory budget of the quarantine was used up.
    public var budget: UInt64
    /// No slot of the quarantine could be allocated in time.
    public var busy: UInt64
    /// The object had an unowned reference, or was allocated on the stack.
    public var unowned: UInt64
    /// The deinit of the object had not ended yet.
    public var isolated: UInt64
  }
}
