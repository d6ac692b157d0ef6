public import CrashProtocol

/// The conditions of a search, as the search box contains them.
///
/// `filter` is the filter of crashd's protocol. The other fields are conditions that this filter lacks. crashd supports
/// only some of them (`Scope.terms`).
public struct Search: Codable, Sendable, Hashable {
  /// The protocol's filter.
  public var filter: ReportFilter
  /// The states of issues; nil selects all states.
  public var states: [String]?
  /// The build id, or its first digits.
  public var build: String?
  /// The host.
  public var host: String?
  /// The cause of the diagnosis.
  public var cause: String?
  /// The class of a use-after-free.
  public var className: String?
  /// A part of the title.
  public var text: String?

  /// Creates a search; without arguments it selects everything.
  public init(filter: ReportFilter = ReportFilter(), states: [String]? = nil, text: String? = nil) {
    (self.filter, self.states, self.text) = (filter, states, text)
  }

  /// Whether the search selects everything.
  public var isEmpty: Bool { self == Search() }
}

/// The key of a term in a search, such as `program:shop`.
public enum SearchTerm: String, Codable, Sendable, CaseIterable {
  case program, build, release, environment, host, pod, unit, executable, signal, cause, `class`, route, trace
  case state, tag, group, pid, since, until
  /// Words without a key. The title of the issue must contain each of them.
  case text

  /// Alternative spellings of keys.
  static let aliases: [String: SearchTerm] = [
    "is": .state, "env": .environment, "name": .program, "service": .program, "exe": .executable, "issue": .group,
    "operation": .route,
  ]

  init?(key: String) {
    let key = key.lowercased()
    guard let term = Self.aliases[key] ?? SearchTerm(rawValue: key), term != .text else { return nil }
    self = term
  }
}
