public import CrashReport

extension DanglingPolicyReport {
  /// The level of a program's protection.
  public struct Level: OpenEnum {
    /// The value as a string, as in JSON.
    public let rawValue: String
    /// Creates a value from any string.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// No class is protected.
    public static let off = Self("off")
    /// The listed classes are protected within the quarantine limit `base`.
    public static let base = Self("base")
    /// The listed classes are protected within the quarantine limit `raised`.
    public static let raised = Self("raised")
  }

  /// The operator's override of the level.
  public struct Pin: OpenEnum {
    /// The value as a string, as in JSON.
    public let rawValue: String
    /// Creates a value from any string.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// There is no override: an alarm raises the level, and crashd's stop rule lowers the level.
    public static let automatic = Self("automatic")
    /// The level is always raised.
    public static let on = Self("on")
    /// The level is always off.
    public static let off = Self("off")

    /// The values that an operator can set.
    public static let all: [Self] = [.automatic, .on, .off]
  }

  /// The cause for which a class is protected.
  public struct ListedBy: OpenEnum {
    /// The value as a string, as in JSON.
    public let rawValue: String
    /// Creates a value from any string.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// An operator listed the class.
    public static let byOperator = Self("operator")
    /// The statistics listed the class, because crashes and detected accesses named the class.
    public static let statistics = Self("statistics")
  }
}

extension DanglingDecision {
  /// The kind of a decision.
  public struct Action: OpenEnum {
    /// The value as a string, as in JSON.
    public let rawValue: String
    /// Creates a value from any string.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The level of the protection changed.
    public static let switched = Self("switched")
    /// An alarm occurred, but the rules do not allow it to raise the level.
    public static let advised = Self("advised")
    /// The protection of a class ended.
    public static let released = Self("released")
    /// An operator changed the rules.
    public static let byOperator = Self("operator")
  }
}

extension ProcessSummary {
  /// The part of a process's memory that reports contain.
  public struct Memory: OpenEnum {
    /// The value as a string, as in JSON.
    public let rawValue: String
    /// Creates a value from any string.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Reports contain all memory that the process recorded.
    public static let full = Self("full")
    /// Reports contain the recorded memory, from which strings were scrubbed.
    public static let scrubbed = Self("scrubbed")
    /// Reports contain no memory, because the program disabled its recording.
    public static let nothing = Self("none")
    /// Reports contain no memory, because crashd's settings forbid it and the process therefore records none.
    public static let withheld = Self("withheld")
    /// Reports contain no memory, because crashd discards it.
    ///
    /// The process records its memory, but crashd's settings forbid memory in reports.
    public static let discarded = Self("discarded")
  }
}
