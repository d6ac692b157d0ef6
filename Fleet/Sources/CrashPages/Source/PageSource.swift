public import CrashProtocol
public import CrashReport

/// Provides the data of the pages: from the crashd of one machine, or from the store of a fleet.
///
/// The types are the same for both sources; a source fills only the fields that it knows. All times are RFC 3339 in
/// UTC, as in reports. All strings can come from a crashed process, so the pages escape them.
///
/// A source implements at least `scope`, `issues`, `issue`, `events`, `event` and `hours`. The other methods throw
/// `notAvailable` unless the source implements them; `Scope.sections` names the views that it has.
public protocol PageSource: Sendable {
  /// What the reader can do if the source is not available.
  var advice: String { get }

  /// Describes what the source covers.
  func scope() async throws(SourceError) -> Scope

  /// Returns a page of issues.
  func issues(_ query: IssueQuery) async throws(SourceError) -> Slice<Issue>

  /// Returns the issue whose key begins with `key`.
  func issue(_ key: String) async throws(SourceError) -> IssueDetail

  /// Returns a page of events, newest first.
  func events(_ query: EventQuery) async throws(SourceError) -> Slice<Event>

  /// Returns the event whose id begins with `id`.
  func event(_ id: String) async throws(SourceError) -> EventDetail

  /// Returns the numbers of events by hour, in any order.
  ///
  /// If `issues` is not nil, the result has separate numbers for each issue with one of these keys. The result can omit
  /// hours without events.
  func hours(of issues: [String]?, _ search: Search) async throws(SourceError) -> [HourCount]

  /// Returns a page of non-fatal incidents, the most recently seen first.
  func incidents(_ query: IncidentSearch) async throws(SourceError) -> Slice<IncidentReport>

  /// Returns the risk of use-after-free by class, and the latest incidents for which the delay between release and
  /// access is known.
  func useAfterFree() async throws(SourceError) -> UseAfterFree

  /// Returns a page of the processes that are attached to crashd.
  func processes(_ query: PageQuery) async throws(SourceError) -> Slice<AttachedProcess>

  /// Returns the most recently seen builds, newest first.
  func builds(_ search: Search) async throws(SourceError) -> [BuildSummary]

  /// Returns the health of the service, and the data that it lost.
  func health() async throws(SourceError) -> ServiceHealth

  /// Returns the alarms about use-after-free crashes, one for each program.
  func alarms() async throws(SourceError) -> Alarms

  /// Returns a stream with true when the pages may have changed, and with false after some seconds without a change.
  ///
  /// Returns nil if the source cannot announce changes. Open pages also reload by themselves, for changes that no
  /// source announces, such as the state of an issue.
  func changes() -> AsyncStream<Bool>?
}

extension PageSource {
  /// Throws `notAvailable`.
  public func incidents(_: IncidentSearch) async throws(SourceError) -> Slice<IncidentReport> { throw .notAvailable }
  /// Throws `notAvailable`.
  public func useAfterFree() async throws(SourceError) -> UseAfterFree { throw .notAvailable }
  /// Throws `notAvailable`.
  public func processes(_: PageQuery) async throws(SourceError) -> Slice<AttachedProcess> { throw .notAvailable }
  /// Throws `notAvailable`.
  public func builds(_: Search) async throws(SourceError) -> [BuildSummary] { throw .notAvailable }
  /// Throws `notAvailable`.
  public func health() async throws(SourceError) -> ServiceHealth { throw .notAvailable }
  /// Throws `notAvailable`.
  public func alarms() async throws(SourceError) -> Alarms { throw .notAvailable }
  /// Returns nil.
  public func changes() -> AsyncStream<Bool>? { nil }
}

/// The reason why a source cannot answer.
public enum SourceError: Error, Equatable, Sendable {
  /// No issue has this key, or no event has this id. The page has the status 404.
  case notFound(String)
  /// The key or the id is abbreviated, and several issues or events begin with it. The page has the status 404.
  case ambiguous(String)
  /// The source does not have this view. The page has the status 404.
  case notAvailable
  /// A search term is invalid, or the source does not support it. The page has the status 400.
  case invalidSearch(String)
  /// The service does not respond, for the given reason. The page has the status 503.
  case unavailable(String)
}

/// What a source covers.
public struct Scope: Codable, Sendable, Equatable {
  /// A view that a source can lack.
  public enum Section: String, Codable, Sendable, CaseIterable {
    case timeline, incidents, useAfterFree, processes, builds, health, alarm
  }

  /// The name of the machine or of the fleet.
  public var name: String
  /// The views that the source has in addition to issues and events.
  public var sections: [Section]
  /// The search terms that the source supports.
  public var terms: [SearchTerm]
  /// The states that issues may have.
  public var states: [String]
  /// Whether `PageSource.changes()` returns changes.
  public var hasChanges = false

  /// Creates a value from its parts.
  public init(
    name: String, sections: [Section] = Section.allCases, terms: [SearchTerm] = SearchTerm.allCases,
    states: [String] = ["new", "regressed", "open", "resolved"]
  ) {
    (self.name, self.sections, self.terms, self.states) = (name, sections, terms, states)
  }
}

/// One page of a long list.
public struct Slice<Item: Sendable>: Sendable {
  /// The items of the page.
  public var items: [Item]
  /// The cursor of the next page; nil on the last page.
  ///
  /// The cursor must not contain a secret, because it becomes part of a URL.
  public var next: String?
  /// The number of all items, if the source knows it.
  public var total: Int?

  private let cursor: @Sendable (Int) -> String?

  /// Creates a page.
  ///
  /// `cursor` returns the cursor after a number of items of this page.
  public init(
    _ items: [Item], hasMore: Bool, total: Int? = nil, cursor: @escaping @Sendable (Int) -> String?
  ) {
    (self.items, self.total, self.cursor) = (items, total, cursor)
    next = hasMore ? cursor(items.count) : nil
  }

  /// Returns the first items, and the cursor after them.
  public func prefix(_ count: Int) -> Slice {
    count < items.count ? Slice(Array(items.prefix(count)), hasMore: true, total: total, cursor: cursor) : self
  }
}

/// Selects one page of a long list.
public struct PageQuery: Sendable, Equatable {
  /// The cursor of the page, from the previous page's `next`; nil means the first page.
  ///
  /// The value comes from a URL, so it can be any string.
  public var cursor: String?
  /// The maximum number of items.
  public var limit: Int

  /// Creates a query.
  public init(cursor: String? = nil, limit: Int) { (self.cursor, self.limit) = (cursor, limit) }
}

/// Selects issues.
public struct IssueQuery: Sendable, Equatable {
  /// The order of the issues.
  public enum Order: String, Codable, Sendable, CaseIterable {
    /// The issue with the newest last event comes first.
    case last
    /// The issue with the newest first event comes first.
    case first
    /// The issue with the most events comes first.
    case count
  }

  /// The conditions.
  public var search: Search
  /// The order.
  public var order: Order
  /// The page.
  public var page: PageQuery

  /// Creates a query.
  public init(search: Search = Search(), order: Order = .last, page: PageQuery) {
    (self.search, self.order, self.page) = (search, order, page)
  }
}

/// Selects events.
public struct EventQuery: Sendable, Equatable {
  /// The conditions.
  public var search: Search
  /// The page.
  public var page: PageQuery

  /// Creates a query.
  public init(search: Search = Search(), page: PageQuery) { (self.search, self.page) = (search, page) }
}

/// Selects incidents.
public struct IncidentSearch: Sendable, Equatable {
  /// The conditions.
  public var filter: IncidentFilter
  /// The page.
  public var page: PageQuery

  /// Creates a query.
  public init(filter: IncidentFilter = IncidentFilter(), page: PageQuery) { (self.filter, self.page) = (filter, page) }
}
