import CrashClient
import CrashPages
import CrashProtocol
import CrashReport
import Glibc
import NIOPosix

/// Provides the data of the pages of one machine, which it reads from crashd's socket.
struct CrashdSource: PageSource {
  private let client: CrashClient

  init(client: CrashClient) { self.client = client }

  var advice: String { "Check it with 'crashctl status' and 'systemctl status crashd', then reload this page." }

  func scope() -> Scope {
    // crashd's filter does not have these conditions.
    let unknown: [SearchTerm] = [.build, .host, .cause, .class]
    return Scope(name: Self.host, terms: SearchTerm.allCases.filter { !unknown.contains($0) })
  }

  /// Calls crashd on a thread of a pool, because the call blocks its thread.
  func ask<Value: Sendable>(
    _ body: @escaping @Sendable (CrashClient) throws(ClientError) -> Value
  ) async throws(SourceError) -> Value {
    let client = client
    let result: Result<Value, ClientError>
    do {
      result = try await NIOThreadPool.singleton.runIfActive {
        do throws(ClientError) { return .success(try body(client)) } catch { return .failure(error) }
      }
    } catch {
      throw .unavailable("crash-web is stopping")
    }
    do throws(ClientError) { return try result.get() } catch { throw SourceError(error) }
  }

  func issues(_ query: IssueQuery) async throws(SourceError) -> Slice<Issue> {
    let offset = try Self.offset(query.page.cursor)
    return try await ask { client throws(ClientError) in
      var groups = GroupQuery(
        limit: query.page.limit + 1, offset: offset, sort: GroupQuery.Order(rawValue: query.order.rawValue),
        states: query.search.states.map { $0.compactMap { GroupQuery.State(rawValue: $0) } })
      let found: [ReportGroup]
      if let text = query.search.text {
        found = try TitleSearch(client: client, text: text).groups(&groups, Self.filter(query.search), offset: offset)
      } else {
        found = try client.groups(groups, Self.filter(query.search))
      }
      return Slice(found.prefix(query.page.limit).map(Issue.init), hasMore: found.count > query.page.limit) {
        String(offset + $0)
      }
    }
  }

  func issue(_ key: String) async throws(SourceError) -> IssueDetail {
    return try await ask { client throws(ClientError) in
      let detail = try client.group(key: key)
      guard let newest = detail.groups.max(by: { $0.last < $1.last }) else {
        throw .refused(.noSuchGroup(key: key))
      }
      var issue = Issue(newest)
      // crashd returns a separate group for each user.
      issue.count = detail.groups.reduce(0) { $0 &+ $1.count }
      issue.first = detail.groups.map(\.first).min() ?? newest.first
      issue.builds = detail.builds.count
      let events = try client.list(ListQuery(limit: 100, filter: ReportFilter(group: newest.key)))
      let builds = detail.builds.filter { !$0.build.isEmpty }.map {
        IssueDetail.Value(value: $0.build, count: $0.count)
      }
      let all = [IssueDetail.Distribution(property: "build", values: builds.sorted { $0.count > $1.count })]
      let sampled = Distributions.of(events, isSample: events.count < issue.count)
      return IssueDetail(issue: issue, distributions: all + sampled)
    }
  }

  func events(_ query: EventQuery) async throws(SourceError) -> Slice<Event> {
    if query.search.states != nil { throw .invalidSearch("'state' selects issues, not crashes") }
    if query.search.text != nil { throw .invalidSearch("words without a key select issues, not crashes") }
    return try await ask { client throws(ClientError) in
      var list = ListQuery(limit: query.page.limit, before: query.page.cursor, filter: Self.filter(query.search))
      list.count = true
      let page = try client.page(list)
      let more = page.more ?? 0
      let cursors = page.reports.map(\.cursor)
      return Slice(
        page.reports.map(Event.init), hasMore: more > 0,
        total: query.page.cursor == nil ? page.reports.count + more : nil
      ) { $0 > 0 ? cursors[$0 - 1] : nil }
    }
  }

  func event(_ id: String) async throws(SourceError) -> EventDetail {
    try await ask { client throws(ClientError) in
      let report = try client.report(id: id).report
      guard !report.group.key.isEmpty else { return EventDetail(report: report) }
      let group = ReportFilter(group: report.group.key)
      let own = ReportFilter(group: report.group.key, since: report.time, until: report.time)
      guard
        let cursor = try client.list(ListQuery(limit: 100, filter: own)).first(where: { $0.id == report.id })?.cursor
      else { return EventDetail(report: report) }
      var newer = ListQuery(limit: 1, filter: group)
      (newer.after, newer.oldestFirst) = (cursor, true)
      return EventDetail(
        report: report, newer: try client.list(newer).first?.id,
        older: try client.list(ListQuery(limit: 1, before: cursor, filter: group)).first?.id)
    }
  }

  func hours(of issues: [String]?, _ search: Search) async throws(SourceError) -> [HourCount] {
    try await ask { client throws(ClientError) in
      do throws(ClientError) {
        return try client.hours(of: issues, Self.filter(search))
      } catch .refused(.methodNotFound) {
        // An older crashd lacks this method; the pages then show no plots.
        return []
      }
    }
  }

  /// Returns crashd's filter for a search.
  ///
  /// The key of a group becomes lower case, as crashd writes keys.
  static func filter(_ search: Search) -> ReportFilter {
    var filter = search.filter
    filter.group = filter.group?.lowercased()
    return filter
  }

  /// Returns the number of items before the page.
  ///
  /// The cursor is this number as text.
  static func offset(_ cursor: String?) throws(SourceError) -> Int {
    guard let cursor else { return 0 }
    guard let offset = Int(cursor), (0...1_000_000).contains(offset) else {
      throw .invalidSearch("no page '\(cursor)'")
    }
    return offset
  }

  private static let host: String = {
    var name = [CChar](repeating: 0, count: 256)
    // Invariant: the array has room for the name and a null character.
    guard unsafe gethostname(&name, name.count - 1) == 0 else { return "this machine" }
    return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }()
}
