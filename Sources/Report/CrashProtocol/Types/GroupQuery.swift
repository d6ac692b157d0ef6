/// Selects groups by their state, and orders them.
public struct GroupQuery: Codable, Sendable, Equatable {
  /// The sort order of groups.
  public enum Order: String, Codable, Sendable, CaseIterable {
    /// Groups whose last crash is the most recent come first.
    case last
    /// Groups whose first crash is the most recent come first.
    case first
    /// Groups with the most crashes come first.
    case count
  }

  /// A state of a group.
  public enum State: String, Codable, Sendable, CaseIterable {
    /// The group was first seen in the newest build of its program, and the program has earlier builds.
    case new
    /// The group is not new, not resolved and not regressed.
    case open
    /// The group was marked as resolved, and has not occurred since then.
    case resolved
    /// The group occurred again after it was marked as resolved.
    case regressed
  }

  /// The maximum number of groups; the default is 100.
  public var limit: Int?
  /// The number of groups to skip: the number of groups on the previous pages.
  public var offset: Int?
  /// The sort order; the default is `last`.
  public var sort: String?
  /// The states of the selected groups.
  ///
  /// Nil selects groups in all states.
  public var states: [String]?

  /// Creates a query.
  ///
  /// A query without arguments selects the groups with the latest crashes.
  public init(limit: Int? = nil, offset: Int? = nil, sort: Order? = nil, states: [State]? = nil) {
    (self.limit, self.offset, self.sort) = (limit, offset, sort?.rawValue)
    self.states = states?.map(\.rawValue)
  }
}
