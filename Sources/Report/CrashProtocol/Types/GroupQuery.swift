/// Selects groups by their state, and orders them.
public struct GroupQuery: Codable, Sendable, Equatable {
  /// The sort order of groups.
  public enum Order: String, Codable, Sendable, CaseIterable {
    /// Groups that were last seen most recently come first.
    case last
    /// Groups that were first seen most recently come first.
    case first
    /// Groups with the most crashes come first.
    case count
  }

  /// A state of a group.
  public enum State: String, Codable, Sendable, CaseIterable {
    /// The group was first seen in the newest build of its program, which has earlier builds.
    case new
    /// The group is neither new, resolved nor regressed.
    case open
    /// The group was marked as resolved, and has not occurred since.
    case resolved
    /// The group occurred again after it was marked as resolved.
    case regressed
  }

  /// The maximum number of groups, by default 100.
  public var limit: Int?
  /// The number of groups in the previous pages, which are skipped.
  public var offset: Int?
  /// The sort order, by default `last`.
  public var sort: String?
  /// The states of the selected groups.
  ///
  /// Nil selects groups in all states.
  public var states: [String]?

  /// Creates a query.
  ///
  /// Without arguments it selects the groups seen last.
  public init(limit: Int? = nil, offset: Int? = nil, sort: Order? = nil, states: [State]? = nil) {
    (self.limit, self.offset, self.sort) = (limit, offset, sort?.rawValue)
    self.states = states?.map(\.rawValue)
  }
}
