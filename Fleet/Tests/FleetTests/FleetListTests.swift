import CrashPages
import CrashProtocol
import FleetPages
import Testing

/// Tests the lists and sums for which the terms of a search select different SQL statements.
@Suite("Lists of a fleet")
struct FleetListTests {
  private let test: TestStore
  private let source: FleetSource

  init() async throws {
    test = try await TestStore()
    source = FleetSource(test.store, tenant: test.tenant, named: "shop")
  }

  private func ids(_ search: Search) async throws -> [String] {
    var (ids, cursor): ([String], String?) = ([], nil)
    repeat {
      let slice = try await source.events(EventQuery(search: search, page: PageQuery(cursor: cursor, limit: 4)))
      ids += slice.items.map(\.id)
      cursor = slice.next
    } while cursor != nil
    return ids
  }

  @Test("crashes of a host and of a build are listed by time across groups, page by page")
  func places() async throws {
    let numbers = 1...30 as ClosedRange<UInt128>
    _ = try await test.ingest(
      numbers.map { number in
        let build = number % 4 == 0 ? "ab4" : number % 4 == 1 ? "ab1" : "c"
        return Sample.report(
          number, group: "g\(number % 3)", host: number % 2, build: build, age_s: Int64(number) / 2)
      })
    let of = { (isWanted: (UInt128) -> Bool) in
      // Of two reports of one second, the higher id comes first.
      numbers.filter(isWanted).sorted { ($0 / 2, $1) < ($1 / 2, $0) }.map { Sample.hex(Int($0)) }
    }
    var search = Search()
    search.host = "web-1"
    #expect(try await ids(search) == of { $0 % 2 == 1 })
    search.build = "ab"
    #expect(try await ids(search) == of { $0 % 4 == 1 })
    search.host = nil
    #expect(try await ids(search) == of { $0 % 4 < 2 })
    search.filter.group = "g1"
    #expect(try await ids(search) == of { $0 % 4 < 2 && $0 % 3 == 1 })
  }

  @Test("builds and hours have the crashes of the searched time, and of the searched programs")
  func times() async throws {
    let day: Int64 = 86_400
    _ = try await test.ingest([
      Sample.report(1, age_s: 9 * day), Sample.report(2),
      Sample.report(3, program: "cart", build: "b2", age_s: 3 * day),
    ])
    let search = { (since: Int64?, until: Int64?, program: String?) in
      var search = Search()
      search.filter.name = program
      search.filter.since = since.map { Sample.time(age_s: $0) }
      search.filter.until = until.map { Sample.time(age_s: $0) }
      return search
    }
    for (since, until, program, expected) in [
      (nil, nil, nil, ["b1": 2, "b2": 1]), (4 * day, nil, nil, ["b1": 1, "b2": 1]),
      (nil, 2 * day, nil, ["b1": 1, "b2": 1]), (4 * day, 2 * day, nil, ["b2": 1]), (8 * day, 4 * day, nil, [:]),
      (nil, nil, "car", ["b2": 1]), (4 * day, nil, "shop", ["b1": 1]),
    ] as [(Int64?, Int64?, String?, [String: Int])] {
      let search = search(since, until, program)
      let builds = try await source.builds(search)
      #expect(Dictionary(uniqueKeysWithValues: builds.map { ($0.build, $0.count) }) == expected, "\(search)")
      let issues = try await source.issues(IssueQuery(search: search, page: PageQuery(limit: 9))).items
      #expect(Set(issues.flatMap(\.programs)) == Set(builds.flatMap(\.programs)), "\(search)")
      let sum = expected.values.reduce(0, +)
      #expect(try await source.hours(of: nil, search).map(\.count).reduce(0, +) == sum, "\(search)")
      // All crashes have the signal SIGSEGV. With this term, the source reads the sums of groups instead of the sums of
      // programs, and must return the same hours.
      var narrow = search
      narrow.filter.signal = "SIGSEGV"
      let counted = { (counts: [HourCount]) in Set(counts.map { "\($0.hour) \($0.count)" }) }
      let (wide, same) = (try await source.hours(of: nil, search), try await source.hours(of: nil, narrow))
      #expect(counted(wide) == counted(same), "\(search)")
    }
  }
}
