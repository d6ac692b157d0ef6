/// The reason why a call of the database failed.
public enum FleetError: Error, Sendable, Equatable, CustomStringConvertible {
  /// No server of the connection string accepts connections, or the connection broke.
  ///
  /// If the connection broke during a commit, the outcome of the transaction is unknown. The caller then repeats the
  /// transaction: storing a batch twice changes nothing.
  case unreachable(String)
  /// Too many calls wait for a connection already.
  case busy(limit: Int)
  /// The transaction conflicted with another one, or the server has become a standby; a repetition can succeed.
  case conflict(state: String, String)
  /// The database lacks rows whose primary keys the service has cached, because the database was replaced or restored.
  case stale
  /// The server has no room: the disk is full, or too many connections are open.
  case full(state: String, String)
  /// The transaction is committed, but no standby has confirmed it, because an operator canceled the wait.
  case unreplicated
  /// The database has no schema, or an older one than this program needs.
  case schema(String)
  /// The server refused a statement.
  case refused(state: String, String)

  /// Whether the same call can succeed later.
  public var isTemporary: Bool {
    switch self {
    case .unreachable, .busy, .conflict, .stale, .full, .unreplicated: true
    case .schema, .refused: false
    }
  }

  /// Whether the connection must be closed.
  var endsConnection: Bool {
    switch self {
    case .unreachable, .unreplicated: true
    // A server that was the primary and is now a standby refuses all further writes.
    case .conflict(let state, _): state == Self.readOnly
    case .busy, .stale, .full, .schema, .refused: false
    }
  }

  private static let readOnly = "25006"

  /// One sentence for logs and messages.
  public var description: String {
    switch self {
    case .unreachable(let text): "cannot reach the database: \(text)"
    case .busy(let limit): "\(limit) calls wait for the database already"
    case .conflict(let state, let text): "the transaction must be repeated (SQLSTATE \(state)): \(text)"
    case .stale: "the database lacks hosts, builds or groups that it had before; the service looks them up again"
    case .full(let state, let text): "the database has no room (SQLSTATE \(state)): \(text)"
    case .unreplicated: "no standby has confirmed the commit"
    case .schema(let text): text
    case .refused(let state, let text): "the database refuses a statement (SQLSTATE \(state)): \(text)"
    }
  }

  /// Maps the SQLSTATE of a failed statement; an empty state means that the connection broke.
  init(state: String, _ message: String) {
    switch state {
    // Connection failures, a server that stops or starts, and a transaction that was idle for too long.
    case "", "25P03", "57P01", "57P02", "57P03", "57P05": self = .unreachable(message)
    case let state where state.hasPrefix("08"): self = .unreachable(message)
    // A serialization failure, a deadlock, a lock or statement timeout, and a read-only server.
    case "40001", "40P01", "55P03", "57014", Self.readOnly: self = .conflict(state: state, message)
    case let state where state.hasPrefix("53"): self = .full(state: state, message)
    // A missing table or function.
    case "42P01", "42883": self = .schema("\(message); run crash-fleet migrate")
    default: self = .refused(state: state, message)
    }
  }
}
