public import CrashReport

extension DanglingPolicyReport {
  /// The level of a program's protection.
  public struct Level: OpenEnum {
    /// The text of the value.
    public let rawValue: String
    /// Creates a value from any text.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// No protection.
    public static let off = Self("off")
    /// Protects classes at risk, within the base budget.
    public static let base = Self("base")
    /// Protects within the raised budget.
    public static let raised = Self("raised")
  }

  /// The operator's override of the level.
  public struct Pin: OpenEnum {
    /// The text of the value.
    public let rawValue: String
    /// Creates a value from any text.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// No override: the alarm and the stop rule decide.
    public static let automatic = Self("automatic")
    /// The level is raised.
    public static let on = Self("on")
    /// The level is off.
    public static let off = Self("off")

    /// The values that an operator can set.
    public static let all: [Self] = [.automatic, .on, .off]
  }

  /// The source of a class's protection.
  public struct ListedBy: OpenEnum {
    /// The text of the value.
    public let rawValue: String
    /// Creates a value from any text.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// An operator listed the class.
    public static let byOperator = Self("operator")
    /// The statistics of crashes and hits of the class.
    public static let statistics = Self("statistics")
  }
}

extension DanglingDecision {
  /// The kind of a decision.
  public struct Action: OpenEnum {
    /// The text of the value.
    public let rawValue: String
    /// Creates a value from any text.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The level changed.
    public static let switched = Self("switched")
    /// An alarm occurred, but the rules do not allow it to raise the level.
    public static let advised = Self("advised")
    /// A class lost its protection.
    public static let released = Self("released")
    /// An operator changed the rules.
    public static let byOperator = Self("operator")
  }
}

extension ProcessSummary {
  /// Describes how much of a process's memory reports store.
  public struct Memory: OpenEnum {
    /// The text of the value.
    public let rawValue: String
    /// Creates a value from any text.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Reports store all memory of the record.
    public static let full = Self("full")
    /// Reports store all memory of the record, scrubbed.
    public static let scrubbed = Self("scrubbed")
    /// Reports store no memory, because the program disabled it.
    public static let nothing = Self("none")
    /// Reports store no memory, because crashd's settings forbid it.
    public static let withheld = Self("withheld")
    /// Reports store no memory: the process records it, and crashd discards it by its settings.
    public static let discarded = Self("discarded")
  }
}
