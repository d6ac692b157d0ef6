internal import CShimRing

/// An incident, as the shield's library in the process recorded it.
///
/// An incident is a fault, which the process usually survives. An incident can also be an object whose address a
/// register contained at a crash (`isOfCrash`).
public struct Incident: Sendable, Equatable {
  /// The part of the in-process library that recorded the incident.
  public enum Source: Sendable, Equatable {
    /// The quarantine detected a use-after-free.
    case quarantine
    /// A guard in the program prevented a fault.
    case guarding
    /// A guard page detected an access out of bounds or after the memory was freed.
    case pages
    /// A trap ended contained work (`Shield.isolated`) or a contained request, but not the process.
    case isolated
    /// A source that this version of crashd does not define.
    case other(UInt32)
  }

  /// The reaction of the in-process library to the incident.
  public enum Mode: Sendable, Equatable {
    /// The library prevented the effect of the incident, and the program continued.
    case absorb
    /// The library had set the fields of the object to zero, so the program read zeros.
    case zero
    /// The library had filled the fields of the object with poison values, which are never valid pointers.
    case diagnose
    /// The incident was only recorded.
    case observe
    /// The process was configured to crash at the incident, or the incident is a freed-object record (`isFreedRecord`).
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
  /// The meaning of the number depends on the source: the number is from the enum `cs_ring_dangling` for the
  /// quarantine, `cs_ring_pages` for guard pages, and `cs_ring_contained` for contained work.
  public var kind: UInt32
  /// The reaction of the in-process library.
  public var mode: Mode
  /// The subject of the incident, depending on the source: the class of the object, the message of the guard, or the
  /// runtime error message of the trap.
  public var subject: String
  /// The number of occurrences.
  public var count: UInt64
  /// The time of the first occurrence, in nanoseconds since 1970.
  public var first_ns: UInt64
  /// The time of the last occurrence, in nanoseconds since 1970.
  public var last_ns: UInt64
  /// For a method call, the address of the called method.
  ///
  /// For guard pages, the value is the accessed address. For an object at a crash (`isOfCrash`), it is the faulting
  /// address of the crash; nil if this address is 0. For all other incidents, it is nil.
  public var method: UInt64?
  /// For a method call, the index of the word in the class's method table that the call used.
  public var word: UInt32
  /// For an object, the number of retains minus the number of releases after the object's last release.
  ///
  /// For guard pages, the value is the offset of the access from the start of the object. For a contained request, it
  /// is the number of the request.
  public var amount: Int64
  /// The quarantine's record of the object; nil if the object had already left the quarantine.
  public var record: Record?
  /// The ID of the thread that used the object; nil if it is unknown.
  public var useTid: Int32?
  /// The return addresses at the use of the object, innermost first.
  ///
  /// For an async caller, the array contains the start address, plus 1, of the function in which the caller resumes.
  public var use: [UInt64]
  /// Whether the first address in `use` is the address of the instruction itself; false if it is a return address.
  public var isExact: Bool
  /// The processor state at the trap that ended contained work; nil for incidents of other sources.
  public var trap: Trap?

  /// The number of the contained request that the trap ended; nil for any other incident.
  public var requestNumber: UInt64? {
    guard source == .isolated, kind == cs_ring_contained.CS_RING_CONTAINED_REQUEST.rawValue, amount > 0 else {
      return nil
    }
    return UInt64(amount)
  }

  /// Whether the incident is a freed-object record.
  ///
  /// A freed-object record states that a register at a crash contained the address of an object that had already left
  /// the quarantine.
  ///
  /// For such a record, `amount` is the `sequence` of the crash record of this crash.
  public var isFreedRecord: Bool {
    source == .quarantine && kind == cs_ring_dangling.CS_RING_DANGLING_FREED.rawValue
  }

  /// Whether the incident states that a register at a crash contained the address of an object that was still in the
  /// quarantine.
  ///
  /// For such an incident, `amount` is the `sequence` of the crash record of this crash.
  public var isHeld: Bool {
    source == .quarantine && kind == cs_ring_dangling.CS_RING_DANGLING_HELD.rawValue
  }

  /// Whether the incident describes an object at a crash, and not a use of an object.
  public var isOfCrash: Bool { isFreedRecord || isHeld }

  /// The processor state at a trap.
  public struct Trap: Sendable, Equatable {
    /// The general registers, indexed by DWARF number, without the program counter.
    ///
    /// The program counter is the first address in `use` instead.
    public var registers: [UInt64]
    /// The contents of the flags register.
    public var flags: UInt64
  }

  /// The quarantine's record of one object.
  public struct Record: Sendable, Equatable {
    /// The number of the record, which the poisoned fields of the object contain.
    public var id: UInt32
    /// The address of the object.
    public var address: UInt64
    /// The time from the last release of the object to its first use after this release, in nanoseconds.
    public var age_ns: UInt64
    /// Whether the object was in the explorer: the part of the quarantine that evicts objects at random.
    public var isExplorer: Bool
    /// The ID of the thread that made the last release of the object.
    public var tid: Int32
    /// The return addresses at the last release, innermost first; empty if they are unknown.
    public var stack: [UInt64]
    /// The size of the object in bytes; 0 if it is unknown.
    public var bytes: UInt32
    /// The ID of the thread that allocated the object; nil if it is unknown.
    public var originTid: Int32?
    /// The return addresses at the allocation of the object, innermost first.
    public var origin: [UInt64]
  }
}

/// A class that is or was protected by the quarantine, with its counters since the protection began.
public struct ProtectedClass: Sendable, Equatable {
  /// The full name of the class; if the name is very long, only its end.
  public var name: String
  /// Whether the class is protected now.
  public var isProtected: Bool
  /// The mode of the quarantine for objects of the class.
  public var mode: Incident.Mode
  /// The maximum number of objects of the class in the quarantine.
  public var limit: UInt32
  /// The size of an instance of the class in bytes.
  public var instanceBytes: UInt32
  /// The number of objects of the class that entered the quarantine.
  public var admitted: UInt64
  /// The number of objects of the class that left the quarantine.
  ///
  /// The quarantine keeps a freed-object record of each of these objects.
  public var evicted: UInt64
  /// The number of use-after-free incidents of the class.
  public var hits: UInt64
  /// The numbers of deallocated objects that did not enter the quarantine, by reason.
  public var skipped: Skipped

  /// The numbers of deallocated objects that did not enter the quarantine, by reason.
  public struct Skipped: Sendable, Equatable {
    /// The number of objects for which the memory budget of the quarantine had no room.
    public var budget: UInt64
    /// The number of objects for which the quarantine could not allocate a slot without waiting too long.
    public var busy: UInt64
    /// The number of objects that had an unowned reference, or were allocated on the stack.
    public var unowned: UInt64
    /// The number of objects whose deinit had not ended yet, because it ran on an actor.
    public var isolated: UInt64
  }
}
