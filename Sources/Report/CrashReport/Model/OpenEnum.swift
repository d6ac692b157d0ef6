/// A vocabulary that later versions of crashd may extend: an unknown word decodes, prints and encodes as it came.
///
/// No string literal makes one, so that nothing is compared with a word that no member has.
public protocol OpenEnum: RawRepresentable<String>, Codable, Hashable, Sendable, CustomStringConvertible {
  /// Makes the value of any word.
  init(rawValue: String)
}

extension OpenEnum {
  /// The word.
  public var description: String { rawValue }

  /// Makes the value of any word.
  public init(_ word: String) { self.init(rawValue: word) }
}

extension CrashReport {
  /// The cause of a crash: a stable name for programs.
  public struct Cause: OpenEnum {
    /// The word.
    public let rawValue: String
    /// Makes the value of any word.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A use-after-free.
    public static let dangling = Self("dangling")
  }
}

extension CrashReport.ReplacedHandler {
  /// The action that stands in the place of the shield's handler.
  public struct Kind: OpenEnum {
    /// The word.
    public let rawValue: String
    /// Makes the value of any word.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Code of the program's.
    public static let handler = Self("handler")
    /// The default action.
    public static let byDefault = Self("default")
    /// The signal is ignored.
    public static let ignored = Self("ignored")
  }
}

extension IncidentReport {
  /// The part of the shield that saw an incident, or a number that this version does not know.
  public struct Source: OpenEnum {
    /// The word.
    public let rawValue: String
    /// Makes the value of any word.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The quarantine.
    public static let quarantine = Self("quarantine")
    /// A guard at a call site, or an implicit one.
    public static let guarding = Self("guard")
    /// A guard slot.
    public static let pages = Self("pages")
    /// Work of `Shield.isolated`.
    public static let isolated = Self("isolated")
  }

  /// What an incident was: these, of a guard a `ShieldKind`, of isolated work `trap`, else a number.
  public struct Kind: OpenEnum {
    /// The word.
    public let rawValue: String
    /// Makes the value of any word.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Quarantine: a method was called.
    public static let call = Self("call")
    /// Quarantine: an asynchronous method was called.
    public static let asyncCall = Self("asyncCall")
    /// Quarantine: the object was released once more.
    public static let overRelease = Self("overRelease")
    /// Quarantine: retains and releases do not balance.
    public static let retains = Self("retains")
    /// Quarantine: a handle of the object was asked for it.
    public static let handle = Self("handle")
    /// Guard slot: freed memory was read.
    public static let read = Self("read")
    /// Quarantine or guard slot: deallocated memory was written.
    public static let write = Self("write")
    /// Guard slot: memory was freed twice.
    public static let doubleFree = Self("doubleFree")
    /// Guard: an executor check failed.
    public static let isolation = Self("isolation")
  }

  /// How sure crashd is of an incident.
  public struct Confidence: OpenEnum {
    /// The word.
    public let rawValue: String
    /// Makes the value of any word.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// It happened.
    public static let certain = Self("certain")
    /// What saw it may be wrong.
    public static let probable = Self("probable")
  }

  /// What the shield does about a fault, or did; or a number that this version does not know.
  public struct Mode: OpenEnum {
    /// The word.
    public let rawValue: String
    /// Makes the value of any word.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The program goes on.
    public static let absorb = Self("absorb")
    /// The fields of the object are emptied.
    public static let zero = Self("zero")
    /// The use is recorded only.
    public static let diagnose = Self("diagnose")
    /// The fault is recorded, and takes its course.
    public static let observe = Self("observe")
    /// The fault ended the process.
    public static let crash = Self("crash")
    /// Nothing: as without a guard.
    public static let off = Self("off")
    /// As the program itself says.
    public static let program = Self("program")
  }
}
