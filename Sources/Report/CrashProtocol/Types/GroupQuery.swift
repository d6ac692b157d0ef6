/// Selects groups by their state, and orders them.
public struct GroupQuery: Codable, Sendable, Equatable {
  /// What the first group has most of.
  public enum Order: String, Codable, Sendable, CaseIterable {
    /// The one that was seen last.
    case last
    /// The one that was first seen most recently.
    case first
    /// The one with the most crashes.
    case count
  }

  /// A state of a group.
  public enum State: String, Codable, Sendable, CaseIterable {
    /// First seen in the newest build of its program, which has earlier ones.
    case new
    /// It occurs.
    case open
    /// Marked as resolved, and it has not occurred since.
    case resolved
    /// It occurred again after that.
    case regressed
  }

  /// The limit of groups; 100 by default.
  public var limit: Int?
  /// The number of groups to skip: those of the previous pages.
  public var offset: Int?
  /// The order; `last` by default.
  public var sort: String?
  /// Only groups in one of these states; all without them.
  public var states: [String]?

  /// Makes a query; without arguments it asks for the groups seen last.
  public init(limit: Int? = nil, offset: Int? = nil, sort: Order? = nil, states: [State]? = nil) {
    (self.limit, self.offset, self.sort) = (limit, offset, sort?.rawValue)
    self.states = states?.map(\.rawValue)
  }
}
