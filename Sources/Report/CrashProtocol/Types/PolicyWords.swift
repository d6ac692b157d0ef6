public import CrashReport

extension DanglingPolicyReport {
  /// How much is protected.
  public struct Level: OpenEnum {
    /// The word.
    public let rawValue: String
    /// Makes the value of any word.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Nothing.
    public static let off = Self("off")
    /// What is known to be at risk, within the smaller budget.
    public static let base = Self("base")
    /// After an alarm.
    public static let raised = Self("raised")
  }

  /// What the operator says of the level.
  public struct Pin: OpenEnum {
    /// The word.
    public let rawValue: String
    /// Makes the value of any word.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Nothing: the alarm and the stop rule decide.
    public static let automatic = Self("automatic")
    /// It is raised.
    public static let on = Self("on")
    /// It is off.
    public static let off = Self("off")

    /// What an operator may say.
    public static let all: [Self] = [.automatic, .on, .off]
  }

  /// Why a class is protected.
  public struct ListedBy: OpenEnum {
    /// The word.
    public let rawValue: String
    /// Makes the value of any word.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// An operator named it.
    public static let byOperator = Self("operator")
    /// Its crashes and hits.
    public static let statistics = Self("statistics")
  }
}

extension DanglingDecision {
  /// What was decided.
  public struct Action: OpenEnum {
    /// The word.
    public let rawValue: String
    /// Makes the value of any word.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The level changed.
    public static let switched = Self("switched")
    /// An alarm, but the rules forbid to act on it.
    public static let advised = Self("advised")
    /// A class was taken off the list.
    public static let released = Self("released")
    /// An operator changed the rules.
    public static let byOperator = Self("operator")
  }
}

extension ProcessSummary {
  /// What reports keep of a process's memory.
  public struct Memory: OpenEnum {
    /// The word.
    public let rawValue: String
    /// Makes the value of any word.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// All that a record has.
    public static let full = Self("full")
    /// The same without texts.
    public static let scrubbed = Self("scrubbed")
    /// Nothing, by the program's choice.
    public static let nothing = Self("none")
    /// Nothing, by crashd's settings.
    public static let withheld = Self("withheld")
    /// Nothing, by crashd's settings: the program records some, and crashd keeps none.
    public static let discarded = Self("discarded")
  }
}
