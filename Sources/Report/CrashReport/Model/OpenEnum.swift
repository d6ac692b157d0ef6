/// A set of words that later versions of crashd may extend: an unknown word decodes, prints and encodes unchanged.
///
/// It has no string literals, so that no value is compared with a word that is not a member.
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
  /// The disposition that replaced the shield's handler.
  public struct Kind: OpenEnum {
    /// The word.
    public let rawValue: String
    /// Makes the value of any word.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A handler of the program.
    public static let handler = Self("handler")
    /// The default action.
    public static let byDefault = Self("default")
    /// The signal is ignored.
    public static let ignored = Self("ignored")
  }
}

extension IncidentReport {
  /// The part of the shield that recorded an incident, or a number that this version does not know.
  public struct Source: OpenEnum {
    /// The word.
    public let rawValue: String
    /// Makes the value of any word.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The quarantine.
    public static let quarantine = Self("quarantine")
    /// A guard at a call site, or an implicit one.
    public static let guarding = Self("guard")
    /// A guard page.
    public static let pages = Self("pages")
    /// Work of `Shield.isolated`.
    public static let isolated = Self("isolated")
  }

  /// The kind of an incident: one of these, for a guard a `ShieldKind`, for contained work `trap`, else a number.
  public struct Kind: OpenEnum {
    /// The word.
    public let rawValue: String
    /// Makes the value of any word.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Quarantine: a method was called.
    public static let call = Self("call")
    /// Quarantine: an asynchronous method was called.
    public static let asyncCall = Self("asyncCall")
    /// Quarantine: the object was over-released.
    public static let overRelease = Self("overRelease")
    /// Quarantine: retains and releases do not balance.
    public static let retains = Self("retains")
    /// Quarantine: a handle was asked for the freed object.
    public static let handle = Self("handle")
    /// Guard page: freed memory was read.
    public static let read = Self("read")
    /// Quarantine or guard page: deallocated memory was written.
    public static let write = Self("write")
    /// Guard page: memory was freed twice.
    public static let doubleFree = Self("doubleFree")
    /// Guard: an executor check failed.
    public static let isolation = Self("isolation")
  }

  /// Whether the program certainly has a bug.
  public struct Confidence: OpenEnum {
    /// The word.
    public let rawValue: String
    /// Makes the value of any word.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The program has a bug.
    public static let certain = Self("certain")
    /// The program has a bug, unless the deferred deinit would have ended the use.
    public static let probable = Self("probable")
  }

  /// The reaction of the shield to a fault; or a number that this version does not know.
  public struct Mode: OpenEnum {
    /// The word.
    public let rawValue: String
    /// Makes the value of any word.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The program continues.
    public static let absorb = Self("absorb")
    /// The fields of the object are zeroed.
    public static let zero = Self("zero")
    /// The use is recorded only.
    public static let diagnose = Self("diagnose")
    /// The fault is recorded, and not prevented.
    public static let observe = Self("observe")
    /// The fault ended the process.
    public static let crash = Self("crash")
    /// No reaction: as without a guard.
    public static let off = Self("off")
    /// The program decides.
    public static let program = Self("program")
  }
}
