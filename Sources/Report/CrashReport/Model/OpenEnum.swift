/// A set of string values that later versions of crashd can extend.
///
/// An unknown string is decoded, printed and encoded unchanged.
///
/// The type cannot be created from a string literal. This restriction prevents comparisons with a string that is not in
/// the set.
public protocol OpenEnum: RawRepresentable<String>, Codable, Hashable, Sendable, CustomStringConvertible {
  /// Creates a value from any string.
  init(rawValue: String)
}

extension OpenEnum {
  /// The string of the value.
  public var description: String { rawValue }

  /// Creates a value from any string.
  public init(_ word: String) { self.init(rawValue: word) }
}

extension CrashReport {
  /// The cause of a crash, as a stable identifier.
  public struct Cause: OpenEnum {
    /// The value as a string, as in JSON.
    public let rawValue: String
    /// Creates a value from any string.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The cause is a use-after-free.
    public static let dangling = Self("dangling")
  }
}

extension CrashReport.ReplacedHandler {
  /// The kind of disposition that replaced the handler of the in-process library.
  public struct Kind: OpenEnum {
    /// The value as a string, as in JSON.
    public let rawValue: String
    /// Creates a value from any string.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A handler of the program.
    public static let handler = Self("handler")
    /// The default action of the signal.
    public static let byDefault = Self("default")
    /// The signal is ignored.
    public static let ignored = Self("ignored")
  }
}

extension IncidentReport {
  /// The part of the in-process library that recorded an incident.
  ///
  /// The value is a number if this version does not define the part.
  public struct Source: OpenEnum {
    /// The value as a string, as in JSON.
    public let rawValue: String
    /// Creates a value from any string.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The quarantine of deallocated objects.
    public static let quarantine = Self("quarantine")
    /// A guard at a call site, or an implicit guard.
    public static let guarding = Self("guard")
    /// A guard page recorded the incident.
    public static let pages = Self("pages")
    /// Contained work, which `Shield.isolated` runs, or a contained request.
    public static let isolated = Self("isolated")

    /// The parts that this version defines.
    package static let known: [Self] = [.quarantine, .pages, .guarding, .isolated]
  }

  /// The kind of an incident.
  ///
  /// For a guard, the kind is a `ShieldKind`. For other sources, the kind is one of the values below. For a kind that
  /// this version does not define, the value is its number.
  public struct Kind: OpenEnum {
    /// The value as a string, as in JSON.
    public let rawValue: String
    /// Creates a value from any string.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The quarantine recorded that the program called a method of the freed object.
    public static let call = Self("call")
    /// The quarantine recorded that the program called an async method of the freed object.
    public static let asyncCall = Self("asyncCall")
    /// The quarantine recorded that the program over-released the object.
    public static let overRelease = Self("overRelease")
    /// The quarantine recorded that the numbers of retains and releases of the freed object differ.
    public static let retains = Self("retains")
    /// The quarantine recorded that the program resolved a handle after its object was freed.
    public static let handle = Self("handle")
    /// A guard page recorded that the program read freed memory.
    public static let read = Self("read")
    /// The quarantine or a guard page recorded that the program wrote to freed memory.
    public static let write = Self("write")
    /// A guard page recorded that the program freed memory twice.
    public static let doubleFree = Self("doubleFree")
    /// A guard recorded that an executor check failed.
    public static let isolation = Self("isolation")
    /// A trap ended contained work (`Shield.isolated`).
    public static let trap = Self("trap")
    /// A trap ended a contained request.
    public static let requestTrap = Self("requestTrap")

    /// The kinds that this version defines; the kinds that are not guard kinds come first.
    package static var known: [Self] {
      let others: [Self] = [
        .call, .asyncCall, .overRelease, .retains, .handle, .read, .write, .doubleFree, .trap, .requestTrap,
      ]
      return others + GuardKinds.names.map { Self($0) }.filter { !others.contains($0) }
    }
  }

  /// Whether an incident proves a bug in the program.
  public struct Confidence: OpenEnum {
    /// The value as a string, as in JSON.
    public let rawValue: String
    /// Creates a value from any string.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The incident proves a bug in the program.
    public static let certain = Self("certain")
    /// The program has a bug, unless the deferred deinit of the object would have prevented the access.
    public static let probable = Self("probable")
  }

  /// The reaction of the in-process library to a fault.
  ///
  /// The value is a number if this version does not define the reaction.
  public struct Mode: OpenEnum {
    /// The value as a string, as in JSON.
    public let rawValue: String
    /// Creates a value from any string.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The program continues after the fault.
    ///
    /// In this mode, a guard returns its fallback value, the quarantine delays the deinit, and a contained request ends
    /// with an error.
    public static let absorb = Self("absorb")
    /// The fields of the object are zeroed.
    public static let zero = Self("zero")
    /// The access is recorded, and the fields of the object are filled with a value that is not a valid pointer.
    public static let diagnose = Self("diagnose")
    /// The fault is recorded, but is not prevented.
    public static let observe = Self("observe")
    /// The fault ended the process.
    public static let crash = Self("crash")
    /// The guard does nothing, as if it were absent.
    public static let off = Self("off")
    /// The program decides the mode.
    public static let program = Self("program")
  }
}
