/// An ask: a request of an operator to all hosts of a tenant.
public struct Ask: Sendable, Equatable {
  /// The kinds of asks.
  public enum Subject: Sendable, Equatable {
    /// The next whole report of an issue, whose groups have these keys.
    case report(issue: Int64, keys: [String])
    /// The protection of this class against use-after-free.
    case protection(className: String)
  }

  /// The number of the ask.
  public var id: Int64
  /// The program.
  public var program: String
  /// What the hosts are asked for.
  public var subject: Subject
}

/// An ask, with its state and the answers of hosts.
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
