/// A set of texts that later versions of crashd may extend.
///
/// An unknown text is decoded, printed and encoded unchanged.
///
/// The type has no string literals, to prevent comparisons with a text that is no member of the set.
public protocol OpenEnum: RawRepresentable<String>, Codable, Hashable, Sendable, CustomStringConvertible {
  /// Creates a value from any text.
  init(rawValue: String)
}

extension OpenEnum {
  /// The text of the value.
  public var description: String { rawValue }

  /// Creates a value from any text.
  public init(_ word: String) { self.init(rawValue: word) }
}

extension CrashReport {
  /// The cause of a crash: a stable name for programs.
  public struct Cause: OpenEnum {
    /// The text of the value.
    public let rawValue: String
    /// Creates a value from any text.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A use-after-free.
    public static let dangling = Self("dangling")
  }
}

extension CrashReport.ReplacedHandler {
  /// The disposition that replaced the shield's handler.
  public struct Kind: OpenEnum {
    /// The text of the value.
    public let rawValue: String
    /// Creates a value from any text.
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
  /// The part of the shield that recorded an incident, or a number that this version does not define.
  public struct Source: OpenEnum {
    /// The text of the value.
    public let rawValue: String
    /// Creates a value from any text.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The quarantine.
    public static let quarantine = Self("quarantine")
    /// A guard at a call site, or an implicit one.
    public static let guarding = Self("guard")
    /// A guard page.
    public static let pages = Self("pages")
    /// Work inside `Shield.isolated`.
    public static let isolated = Self("isolated")
  }

  /// The kind of an incident.
  ///
  /// A guard has a `ShieldKind`, contained work has `trap`, other sources have one of these values. A kind that this
  /// version does not define is a number.
  public struct Kind: OpenEnum {
    /// The text of the value.
    public let rawValue: String
    /// Creates a value from any text.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// From the quarantine: a method was called.
    public static let call = Self("call")
    /// From the quarantine: an async method was called.
    public static let asyncCall = Self("asyncCall")
    /// From the quarantine: the object was over-released.
    public static let overRelease = Self("overRelease")
    /// From the quarantine: retains and releases do not balance.
    public static let retains = Self("retains")
    /// From the quarantine: the freed object was requested from a handle.
    public static let handle = Self("handle")
    /// From a guard page: freed memory was read.
    public static let read = Self("read")
    /// From the quarantine or a guard page: freed memory was written.
    public static let write = Self("write")
    /// From a guard page: memory was freed twice.
    public static let doubleFree = Self("doubleFree")
    /// From a guard: an executor check failed.
    public static let isolation = Self("isolation")
  }

  /// Whether the program certainly has a bug.
  public struct Confidence: OpenEnum {
    /// The text of the value.
    public let rawValue: String
    /// Creates a value from any text.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The program certainly has a bug.
    public static let certain = Self("certain")
    /// The program has a bug, except if the deferred deinit would have prevented the access.
    public static let probable = Self("probable")
  }

  /// The reaction of the shield to a fault, or a number that this version does not define.
  public struct Mode: OpenEnum {
    /// The text of the value.
    public let rawValue: String
    /// Creates a value from any text.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The program continues.
    ///
    /// A guard returns the documented value, and the quarantine delays the deinit.
    public static let absorb = Self("absorb")
    /// The fields of the object are zeroed.
    public static let zero = Self("zero")
    /// The access is recorded, and the fields of the object are poisoned.
    public static let diagnose = Self("diagnose")
    /// The fault is recorded, but not prevented.
    public static let observe = Self("observe")
    /// The fault ended the process.
    public static let crash = Self("crash")
    /// The guard does not react, as if it were absent.
    public static let off = Self("off")
    /// The program sets the mode.
    public static let program = Self("program")
  }
}
