/// What an operator asks the hosts of a tenant for.
public struct Ask: Sendable, Equatable {
  /// The kinds of asks.
  public enum Subject: Sendable, Equatable {
    /// The next report of the crashes of an issue, which has these keys.
    case report(issue: Int64, keys: [String])
    /// The protection of a class against use-after-free.
    case protection(className: String)
  }

  /// The number of the ask.
  public var id: Int64
  /// The program.
  public var program: String
  /// What the hosts are asked for.
  public var subject: Subject
}

/// An ask, and what became of it.
public struct AskState: Sendable, Equatable {
  /// The ask.
  public var ask: Ask
  /// `open`, `expired` or `withdrawn`.
  public var state: String
  /// The time of its creation, and the time at which it expires, in UTC.
  public var (created, expires): (String, String)
  /// The number of hosts by their answer.
  public var answers: [String: Int64]
}

/// The answer of a host to an ask.
public struct IncomingAnswer: Sendable, Equatable {
  /// What the host did.
  public enum Outcome: String, Sendable {
    /// The batch contains the report.
    case sent
    /// crashd protects the class on this host.
    case protected
    /// The policy of the host does not allow it.
    case refused
  }

  /// The machine.
  public var host: IncomingHost
  /// The number of the ask.
  public var ask: Int64
  /// What the host did.
  public var outcome: Outcome

  /// Creates an answer from its parts.
  public init(host: IncomingHost, ask: Int64, outcome: Outcome) {
    (self.host, self.ask, self.outcome) = (host, ask, outcome)
  }
}
