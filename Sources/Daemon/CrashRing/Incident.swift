internal import CShimRing

/// A way in which something happened that a part of the shield saw, and the process went on.
public struct Incident: Sendable, Equatable {
  /// Which part saw it.
  public enum Source: Sendable, Equatable {
    /// An object was used after its last release.
    case quarantine
    /// A guard of the program's did its work.
    case guarding
    /// Memory of a guard slot was used where or when it must not be.
    case pages
    /// Isolated work ended by a trap.
    case isolated
    /// One that this version does not know.
    case other(UInt32)
  }

  /// What was done about it.
  public enum Mode: Sendable, Equatable {
    /// The program went on as if nothing were wrong.
    case absorb
    /// The program got zeros.
    case zero
    /// The program got values that no pointer has.
    case diagnose
    /// Nothing.
    case observe
    /// The process was to end by it.
    case crash
    /// What this version does not know.
    case other(UInt32)
  }

  /// The same in each look at this ring.
  public var key: UInt64
  /// Which part saw it.
  public var source: Source
  /// What it was, as the source numbers it: `cs_ring_dangling` for the quarantine, `cs_ring_pages` for guard slots,
  /// `cs_ring_contained` for isolated work.
  public var kind: UInt32
  /// What was done about it.
  public var mode: Mode
  /// The class of the object, what the guard says, or what the Swift runtime said before a trap.
  public var subject: String
  /// How often.
  public var count: UInt64
  /// Nanoseconds since 1970, of the first time.
  public var first_ns: UInt64
  /// Nanoseconds since 1970, of the last time.
  public var last_ns: UInt64
  /// The code that a call was meant for, or the address of an access to a guard slot; nil for other kinds.
  public var method: UInt64?
  /// The word of the class's metadata that a call went through.
  public var word: UInt32
  /// For objects that were retained more often than released: how many times; for guard slots: how far from the
  /// object's begin.
  public var amount: Int64
  /// What is known of the object; nil when it had just left the quarantine.
  public var record: Record?
  /// The thread that used it; nil when that is not known.
  public var useTid: Int32?
  /// Return addresses of the use, innermost first.
  ///
  /// Where an async caller goes on, which is the begin of a function, stands that and 1.
  public var use: [UInt64]
  /// The first of them is the instruction itself.
  public var isExact: Bool
  /// What the processor held at a trap of isolated work; nil for other incidents.
  public var trap: Trap?

  /// Whether it is no use of an object: at a crash a register had the address of one that had left the quarantine.
  ///
  /// `amount` is the sequence of the crash's record.
  public var isGhost: Bool {
    source == .quarantine && kind == cs_ring_dangling.CS_RING_DANGLING_FREED.rawValue
  }

  /// Whether a register of a crash had the address of an object that was in quarantine, under the policy `mode`.
  ///
  /// `amount` is the sequence of the crash's record.
  public var isHeld: Bool {
    source == .quarantine && kind == cs_ring_dangling.CS_RING_DANGLING_HELD.rawValue
  }

  /// Whether it belongs to a crash, and is no use of an object by itself.
  public var isOfCrash: Bool { isGhost || isHeld }

  /// What the processor held at a trap.
  public struct Trap: Sendable, Equatable {
    /// The general registers by DWARF number, without the program counter, which `use` begins with.
    public var registers: [UInt64]
    /// The flags register.
    public var flags: UInt64
  }

  /// What the quarantine kept of an object.
  public struct Record: Sendable, Equatable {
    /// The number that the poison in the object's fields carries.
    public var id: UInt32
    /// Where the object stood.
    public var address: UInt64
    /// Between the last release and the first use.
    public var age_ns: UInt64
    /// The object was one of those that are evicted at random.
    public var isExplorer: Bool
    /// The thread that released it last.
    public var tid: Int32
    /// Return addresses of that release, innermost first; none when they are not known.
    public var stack: [UInt64]
    /// How large it was; 0 when that is not known.
    public var bytes: UInt32
    /// The thread that allocated it; nil when that is not known.
    public var originTid: Int32?
    /// Return addresses of that, innermost first.
    public var origin: [UInt64]
  }
}

/// A class that is or was protected, and what was counted of it since it first was.
public struct ProtectedClass: Sendable, Equatable {
  /// The full name; of a very long one the end.
  public var name: String
  /// Whether it is protected now.
  public var isProtected: Bool
  /// What becomes of its objects.
  public var mode: Incident.Mode
  /// How many of its objects are kept at most.
  public var limit: UInt32
  /// How large they are.
  public var instanceBytes: UInt32
  /// Objects that came into quarantine.
  public var admitted: UInt64
  /// Objects that left it, each with a ghost record.
  public var evicted: UInt64
  /// Uses of dead objects.
  public var hits: UInt64
  /// Objects that were not admitted: no budget, nobody had time, an unowned reference, a deinit elsewhere.
  public var skipped: Skipped

  /// Objects that were not admitted, by reason.
  public struct Skipped: Sendable, Equatable {
    /// No byte was left.
    public var budget: UInt64
    /// No place could be had.
    public var busy: UInt64
    /// It had an unowned reference, or was on the stack.
    public var unowned: UInt64
    /// Its deinit had not ended.
    public var isolated: UInt64
  }
}
