public import CrashPages
internal import CrashProtocol
internal import CrashReport
internal import FleetStore

extension FleetSource {
  /// Returns a page of whole reports, newest first.
  ///
  /// Crashes for which a host sent only a count are in no list.
  public func events(_ query: EventQuery) async throws(SourceError) -> Slice<Event> {
    let before = try query.page.cursor.map(Position.init(cursor:))
    let limit = Int64(query.page.limit)
    let search = query.search
    let found = try await rows(
      Self.list(search), search,
      (before.map { .int64($0.time_us) + .uuid($0.id) } ?? .null + .null) + .int64(limit + 1))
    let page = found.prefix(query.page.limit)
    let places = page.map { row in Self.number(row.text(0)).map { Position(time_us: row.integer(8), id: $0).cursor } }
    return Slice(page.map(Self.event), hasMore: found.count > limit) { $0 > 0 ? places[$0 - 1] : nil }
  }

  private static func list(_ search: Search) -> Statement {
    if search.filter.group != nil { return listOfGroup }
    if search.host != nil { return listOfHost }
    return search.build == nil ? list : listOfBuild
  }

  /// Returns the report with this id.
  public func event(_ id: String) async throws(SourceError) -> EventDetail {
    guard let number = Self.number(id) else { throw .notFound("crash '\(id)'") }
    guard let row = try await rows(Self.one, .int32(tenant) + .uuid(number)).first else {
      throw .notFound("crash '\(id)'")
    }
    // The query returns the bytes as hexadecimal digits.
    guard let body = Self.bytes(hexadecimal: row.text(0)) else { throw .unavailable("the report has no JSON") }
    let report: CrashReport
    do { report = try ReportCoding.decode(body) } catch {
      // Hosts may run another version of crashd.
      throw .unavailable("the report has another format: \(error)")
    }
    let place: Parameters = .int32(tenant) + .int64(row.integer(1)) + .int64(row.integer(2)) + .uuid(number)
    let neighbors = try await rows(Self.neighbors, place).first ?? [nil, nil]
    return EventDetail(report: report, issue: row.text(1), newer: neighbors[0], older: neighbors[1])
  }

  /// The position of a report in the list of reports.
  private struct Position {
    var time_us: Int64
    var id: UInt128

    /// The times from 1970 to the year 9999; PostgreSQL refuses some later ones.
    private static let times_us: Range<Int64> = 0..<253_402_300_800_000_000

    init(time_us: Int64, id: UInt128) { (self.time_us, self.id) = (time_us, id) }

    init(cursor: String) throws(SourceError) {
      let parts = cursor.split(separator: "-", maxSplits: 1)
      guard parts.count == 2, let time_us = Int64(parts[0]), Self.times_us.contains(time_us),
        let id = FleetSource.number(parts[1])
      else {
        throw .invalidSearch("no page '\(cursor)'")
      }
      (self.time_us, self.id) = (time_us, id)
    }

    var cursor: String {
      let digits = String(id, radix: 16)
      return "\(time_us)-" + String(repeating: "0", count: 32 - digits.count) + digits
    }
  }

  private static func number(_ text: some StringProtocol) -> UInt128? {
    text.utf8.count == 32 ? FleetStore.machine(String(text)) : nil
  }

  private static func bytes(hexadecimal text: String) -> [UInt8]? {
    let digits = Array(text.utf8)
    guard digits.count % 2 == 0 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(digits.count / 2)
    for at in stride(from: 0, to: digits.count, by: 2) {
      guard let high = Character(Unicode.Scalar(digits[at])).hexDigitValue,
        let low = Character(Unicode.Scalar(digits[at + 1])).hexDigitValue
      else { return nil }
      bytes.append(UInt8(high << 4 | low))
    }
    return bytes
  }

  private static func event(_ row: [String?]) -> Event {
    Event(
      id: row.text(0), time: time(row.integer(1)), program: row.text(2), signal: row.text(3),
      sentence: row.text(10), issue: row.text(11), release: row[4], environment: row[5], route: row[6],
      host: row.text(7))
  }

  /// Reads the reports of a tenant in the order of an index.
  ///
  /// Precondition: the search has no group.
  private static let list = Statement(name: "page_events", sql: "\(selection) where \(noGroup) and \(page)")

  // For a search by group, host or build: these statements read only the newest reports of each matching group, host or
  // build, in the order of an index. The statement `list` would also read all newer reports of the other ones.
  private static let listOfGroup = list(
    "alias",
    keys: "select a.id from issue i join alias a on a.issue = i.id where i.tenant = $1::int and \(SearchSQL.group)")
  private static let listOfHost = list(
    "host", keys: "select o.id from host o where o.tenant = $1::int and \(SearchSQL.host) and \(noGroup)")
  private static let listOfBuild = list(
    "build",
    keys: "select b.id from build b where b.tenant = $1::int and starts_with(b.build, $8::text) and \(noGroup)")

  private static func list(_ column: String, keys: String) -> Statement {
    Statement(
      name: "page_events_\(column)",
      sql: """
        select f.* from (\(keys)) k cross join lateral (\(selection) where r.\(column) = k.id and \(page)) f
        order by f.newest desc, f.uuid desc limit $\(SearchSQL.next + 2)::bigint
        """)
  }

  private static let selection = """
    select \(columns), i.title, i.id issue from report r join alias a on a.id = r.alias join issue i on i.id = a.issue
    join build b on b.id = r.build join host o on o.id = r.host
    """

  // The conditions also name the types of both parameters, because the server must know the type of each parameter.
  private static let noGroup = "$7::text is null and $16::bigint is null"

  private static let columns = """
    replace(r.id::text, '-', '') id, (extract(epoch from r.time) * 1e6)::bigint time, b.program, r.signal, r.release,
    r.environment, r.route, o.name, (extract(epoch from \(SearchSQL.time)) * 1e6)::bigint newest, r.id uuid
    """

  private static let page = """
    \(SearchSQL.reports) and ($\(SearchSQL.next)::bigint is null or (\(SearchSQL.time), r.id)
      < (timestamptz 'epoch' + $\(SearchSQL.next)::bigint * interval '1 microsecond', $\(SearchSQL.next + 1)::uuid))
    order by \(SearchSQL.time) desc, r.id desc limit $\(SearchSQL.next + 2)::bigint
    """

  private static let one = Statement(
    name: "page_event",
    sql: """
      select encode(r.body, 'hex'), a.issue, (extract(epoch from \(SearchSQL.time)) * 1e6)::bigint from report r
      join alias a on a.id = r.alias where r.tenant = $1::int and r.id = $2::uuid limit 1
      """)

  private static let neighbors = Statement(
    name: "page_neighbors",
    sql: """
      with place (time, id) as (select timestamptz 'epoch' + $3::bigint * interval '1 microsecond', $4::uuid),
      own as (select id from alias where tenant = $1::int and issue = $2::bigint)
      select (
        select replace(n.id::text, '-', '') from own cross join lateral (
          select r.id, \(SearchSQL.time) newest from report r where r.alias = own.id
            and (\(SearchSQL.time), r.id) > (select time, id from place)
          order by \(SearchSQL.time), r.id limit 1) n
        order by n.newest, n.id limit 1), (
        select replace(n.id::text, '-', '') from own cross join lateral (
          select r.id, \(SearchSQL.time) newest from report r where r.alias = own.id
            and (\(SearchSQL.time), r.id) < (select time, id from place)
          order by \(SearchSQL.time) desc, r.id desc limit 1) n
        order by n.newest desc, n.id desc limit 1)
      """)
}
