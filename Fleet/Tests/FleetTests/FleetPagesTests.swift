import CrashPages
import CrashProtocol
import CrashReport
import FleetPages
import FleetStore
import Foundation
import Testing

/// Tests the pages of a tenant on a database with rows that the fleet stored.
@Suite("Pages of a fleet")
struct FleetPagesTests {
  private let test: TestStore
  private let source: FleetSource

  init() async throws {
    test = try await TestStore()
    source = FleetSource(test.store, tenant: test.tenant, named: "shop")
  }

  private static func text(_ answer: PageAnswer) -> String { String(decoding: answer.body, as: UTF8.self) }

  private func get(_ path: String) async throws -> PageAnswer {
    await (try Site(source: source)).answer(PageRequest(target: path))
  }

  /// A report as crashd writes it, with this id and title.
  private static func body(_ id: UInt128, _ title: String) throws -> String {
    let time = Timestamp.string(since1970_ns: UInt64(Sample.now_us) * 1_000)
    return try ReportCoding.encode(
      CrashReport(
        id: Sample.hex(Int(id)), time: time,
        process: .init(pid: 7, uid: 0, name: "shop", executable: "/srv/shop", buildID: "b1", startTime: time),
        signal: .init(number: 11, name: "SIGSEGV", code: 1, codeName: "SEGV_MAPERR"), reason: title,
        diagnosis: .init(cause: .init(rawValue: "null-pointer"), sentence: title, rule: "rule", confidence: 1),
        threads: [], images: [], annotations: [:], breadcrumbs: [], group: .init(key: "a1", title: title)))
  }

  private func page(_ search: Search = Search(), order: IssueQuery.Order = .last) async throws -> [String] {
    try await source.issues(IssueQuery(search: search, order: order, page: PageQuery(limit: 10))).items.map(\.title)
  }

  @Test("an empty fleet has pages, and a foreign issue or crash has the status 404")
  func empty() async throws {
    for path in ["/issues", "/events", "/timeline", "/builds", "/health"] {
      #expect(try await get(path).status == 200, "\(path)")
      #expect(try await get(path + ".json").status == 200, "\(path)")
    }
    #expect(Self.text(try await get("/issues")).contains("No crash yet"))
    for path in ["/issues/1", "/issues/zz", "/events/1", "/events/\(Sample.hex(1))", "/alarm", "/processes"] {
      #expect(try await get(path).status == 404, "\(path)")
    }
    let far = "/events?page=\(Int64.max)-\(Sample.hex(1))"
    for path in [
      "/issues?page=-1", "/events?page=x", "/events?page=1-2", far, "/issues?q=pid:7", "/issues?q=state:bad",
    ] {
      #expect(try await get(path).status == 400, "\(path)")
    }
  }

  @Test("an issue has its crashes of all hosts by hour, its builds and hosts, and its reports lead to each other")
  func issue() async throws {
    _ = try await test.ingest([
      Sample.report(1, age_s: 60, body: Self.body(1, "first")), Sample.report(3, group: "b2"),
    ])
    _ = try await test.ingest([Sample.report(2, host: 8, build: "b2"), Sample.count(40, host: 8)])
    let slice = try await source.issues(IssueQuery(order: .count, page: PageQuery(limit: 1)))
    let issue = try #require(slice.items.first)
    #expect(issue.title == "title of a1" && issue.count == 42 && issue.hosts == 2 && issue.builds == 2)
    #expect(issue.firstBuild == "b1" && issue.lastBuild == "b2" && issue.newestEvent == Sample.hex(2))
    #expect(slice.next == "1")
    let hours = try await source.hours(of: [issue.key], Search())
    #expect(hours.allSatisfy { $0.key == issue.key } && hours.map(\.count).reduce(0, +) == 42)
    #expect(try await source.hours(of: nil, Search()).map(\.count).reduce(0, +) == 43)

    for key in [issue.key, "a1"] {
      let detail = try await source.issue(key)
      #expect(detail.issue == issue)
      let values = Dictionary(uniqueKeysWithValues: detail.distributions.map { ($0.property, $0.values) })
      #expect(values["host"] == [.init(value: "web-8", count: 41), .init(value: "web-7", count: 1)])
      #expect(values["build"]?.map(\.count) == [41, 1] && values["signal"]?.map(\.count) == [2])
    }
    let event = try await source.event(Sample.hex(1))
    #expect(event.report.reason == "first" && event.issue == issue.key)
    #expect(event.newer == Sample.hex(2) && event.older == nil)
    let page = Self.text(try await get("/events/\(Sample.hex(1))"))
    #expect(page.contains("href=\"/issues/\(issue.key)\"") && page.contains("first"))
    // The body of report 2 is `{}`, as if a host had sent a format of another version.
    #expect(try await get("/events/\(Sample.hex(2))").status == 503)

    let builds = try await source.builds(Search())
    #expect(builds.map(\.build) == ["b2", "b1"] && builds.map(\.newIssues) == [0, 2])
    let health = try await source.health()
    #expect(health.sections.last?.facts.map(\.name).sorted() == ["web-7", "web-8"])
  }

  @Test("an issue shows the crashes of each host, of whole reports and of counters")
  func hosts() async throws {
    _ = try await test.ingest([Sample.report(1), Sample.report(2, host: 8), Sample.count(9)])
    _ = try await test.ingest([Sample.count(11), Sample.count(5, run: 2, host: 8)])
    let key = try #require(try await source.issues(IssueQuery(page: PageQuery(limit: 1))).items.first).key
    let hosts = try #require(try await source.issue(key).distributions.first { $0.property == "host" })
    #expect(hosts.sample == nil)
    #expect(hosts.values.map { "\($0.value) \($0.count)" } == ["web-7 12", "web-8 6"])
  }

  @Test("a search selects by program, title, state, signal, build, host, time and group, for issues and for crashes")
  func search() async throws {
    _ = try await test.ingest([
      Sample.report(1, age_s: 7_200), Sample.report(2, group: "b2", host: 8, program: "cart", build: "b2"),
    ])
    let all = try await source.issues(IssueQuery(page: PageQuery(limit: 10))).items
    let key = try #require(all.first { $0.title == "title of b2" }).key
    _ = try await test.store.change(issue: try #require(Int64(key)), tenant: test.tenant, .mute)
    for text in [
      "program:CAR", "b2 title", "state:muted", "build:b2", "host:web-8", "since:1h", "group:\(key)", "group:b2",
      "program:cart signal:segv cause:null-pointer state:muted state:new build:b since:1h host:web-8",
    ] {
      let issues = Self.text(try await get("/issues.json?q=\(text.replacing(" ", with: "+"))"))
      #expect(issues.contains("title of b2") && !issues.contains("title of a1"), "\(text)")
      let events = Self.text(try await get("/events.json?q=\(text.replacing(" ", with: "+"))"))
      #expect(events.contains(Sample.hex(2)) && !events.contains(Sample.hex(1)), "\(text)")
      if text.contains("host:") { continue }
      let builds = Self.text(try await get("/builds.json?q=\(text.replacing(" ", with: "+"))"))
      #expect(builds.contains("\"cart\"") && !builds.contains("\"shop\""), "\(text)")
    }
    for text in [
      "signal:sigill", "route:x", "release:x", "unit:x", "environment:x", "until:2020-01-01", "host:%00", "a%00b",
    ] {
      for path in ["/issues.json", "/events.json"] {
        let page = try await get("\(path)?q=\(text)")
        #expect(page.status == 200 && !Self.text(page).contains("title of"), "\(path) \(text)")
      }
    }
    // Both issues came in one batch, which inserts them in the order of their programs. The issue of `shop` therefore
    // has the higher number.
    #expect(try await page(order: .first) == ["title of a1", "title of b2"])
  }

  @Test("an issue of two groups lists the reports of both by time, and they lead to each other")
  func merged() async throws {
    _ = try await test.ingest([
      Sample.report(1, group: "a1", age_s: 40), Sample.report(2, group: "b2", age_s: 30, body: Self.body(2, "second")),
      Sample.report(3, group: "a1", age_s: 20, body: Self.body(3, "third")), Sample.report(4, group: "b2", age_s: 10),
    ])
    let issues = try await test.store.issues(tenant: test.tenant)
    let (old, new) = (try #require(issues.first { $0.title == "title of a1" }).id, issues.map(\.id).max() ?? 0)
    #expect(try await test.store.merge(issue: old, into: new, tenant: test.tenant))
    for key in ["\(new)", "a1", "b2"] {
      let own = Search(filter: ReportFilter(group: key))
      let first = try await source.events(EventQuery(search: own, page: PageQuery(limit: 3)))
      #expect(first.items.map(\.id) == [4, 3, 2].map { Sample.hex($0) })
      let second = try await source.events(EventQuery(search: own, page: PageQuery(cursor: first.next, limit: 3)))
      #expect(second.items.map(\.id) == [Sample.hex(1)] && second.next == nil)
    }
    for id in [2, 3] {
      let event = try await source.event(Sample.hex(id))
      #expect(event.newer == Sample.hex(id + 1) && event.older == Sample.hex(id - 1))
    }
  }

  @Test("a group whose key is the number of an issue neither hides this issue nor adds crashes to it")
  func keyIsNumber() async throws {
    _ = try await test.ingest([Sample.report(1)])
    let number = try #require(try await source.issues(IssueQuery(page: PageQuery(limit: 1))).items.first).key
    _ = try await test.ingest([
      Sample.report(2, group: number, program: "cart"), Sample.report(3, group: "+\(number)", program: "cart"),
    ])
    #expect(try await source.issue(number).issue.title == "title of a1")
    let own = Search(filter: ReportFilter(group: number))
    #expect(try await page(own) == ["title of a1"])
    let events = try await source.events(EventQuery(search: own, page: PageQuery(limit: 10)))
    #expect(events.items.map(\.id) == [Sample.hex(1)])
    #expect(try await source.issue("+\(number)").issue.title == "title of +\(number)")
  }

  @Test("a host is searched by its name, and by its machine id with or without hyphens")
  func machines() async throws {
    _ = try await test.ingest([Sample.report(1, host: 0x1a), Sample.report(2, group: "b2", host: 8)])
    let id = try test.query("select machine from host where name = 'web-26'")
    for text in ["web-26", id, id.replacing("-", with: ""), id.uppercased()] {
      let events = Self.text(try await get("/events.json?q=host:\(text)"))
      #expect(events.contains(Sample.hex(1)) && !events.contains(Sample.hex(2)), "\(text)")
    }
  }

  @Test("the key of a group is searched with its case")
  func keyCase() async throws {
    _ = try await test.ingest([Sample.report(1, group: "Mixed")])
    #expect(Self.text(try await get("/issues.json?q=group:Mixed")).contains("title of Mixed"))
    #expect(!Self.text(try await get("/issues.json?q=group:mixed")).contains("title of Mixed"))
  }

  @Test("sums of counters refuse the terms that select single crashes, and say where to search for them")
  func counted() async throws {
    for term in ["host", "release", "environment", "unit", "route"] {
      for path in ["/timeline", "/builds"] {
        let page = try await get("\(path)?q=\(term):x")
        #expect(page.status == 400 && Self.text(page).contains("&#39;\(term)&#39; selects crashes"), "\(path)")
      }
      for path in ["/issues", "/events"] { #expect(try await get("\(path)?q=\(term):x").status == 200, "\(path)") }
    }
  }

  @Test("lists of crashes continue where the page before ended, also for crashes of one time")
  func pages() async throws {
    _ = try await test.ingest((1...25).map { Sample.report($0, age_s: Int64($0) / 10) })
    var (ids, cursor): ([String], String?) = ([], nil)
    repeat {
      let slice = try await source.events(EventQuery(page: PageQuery(cursor: cursor, limit: 7)))
      ids += slice.items.map(\.id)
      cursor = slice.next
    } while cursor != nil
    #expect(Set(ids).count == 25 && ids.count == 25)
  }

  @Test("a report of a host whose clock is ahead does not stay the newest one")
  func future() async throws {
    _ = try await test.ingest([Sample.report(1, age_s: -3_600, body: Self.body(1, "ahead"))])
    _ = try test.query("update report set received = now() - interval '1 hour'")
    _ = try await test.ingest([Sample.report(2, age_s: 60)])
    let issue = try #require(try await source.issues(IssueQuery(page: PageQuery(limit: 1))).items.first)
    #expect(issue.newestEvent == Sample.hex(2))
    let first = try await source.events(EventQuery(page: PageQuery(limit: 1)))
    let second = try await source.events(EventQuery(page: PageQuery(cursor: first.next, limit: 1)))
    #expect(first.items.map(\.id) == [Sample.hex(2)] && second.items.map(\.id) == [Sample.hex(1)])
    let detail = try await source.event(Sample.hex(1))
    #expect(detail.newer == Sample.hex(2) && detail.older == nil)
    let recent = Self.text(try await get("/events.json?q=since:30m"))
    #expect(recent.contains(Sample.hex(2)) && !recent.contains(Sample.hex(1)))
  }

  @Test("a tenant sees nothing of another tenant")
  func tenants() async throws {
    _ = try await test.ingest([Sample.report(1, body: Self.body(1, "secret"))])
    let key = try #require(try await source.issues(IssueQuery(page: PageQuery(limit: 1))).items.first).key
    _ = try await test.store.addToken(tenant: "other", name: "hosts")
    let number = try #require(try await test.store.tenant(named: "other"))
    let other = FleetSource(test.store, tenant: number, named: "other")
    #expect(try await other.issues(IssueQuery(page: PageQuery(limit: 10))).items.isEmpty)
    #expect(try await other.events(EventQuery(page: PageQuery(limit: 10))).items.isEmpty)
    #expect(try await other.hours(of: nil, Search()).isEmpty)
    #expect(try await other.hours(of: [key], Search()).isEmpty)
    #expect(try await other.builds(Search()).isEmpty)
    await #expect(throws: SourceError.self) { try await other.issue(key) }
    await #expect(throws: SourceError.self) { try await other.event(Sample.hex(1)) }
    // The health page warns of clocks that are wrong.
    var position = IncomingPosition(host: IncomingHost(machine: 9, name: "late"), stream: "s", position: "c")
    position.time_us = Sample.now_us + 3_600_000_000
    _ = try await test.ingest([.position(position)])
    #expect(Self.text(try await get("/health")).contains("clock of host &#39;late&#39;"))
    let health = Self.text(await (try Site(source: other)).answer(PageRequest(target: "/health")))
    #expect(!health.contains("web-7") && !health.contains("late"))
  }

  @Test("hostile strings of a host change no page")
  func hostile() async throws {
    let text = "\"><script>alert(1)</script>\u{202e}"
    _ = try await test.ingest([
      Sample.report(1, group: text, program: text, build: text, body: Self.body(1, text))
    ])
    let key = try #require(try await source.issues(IssueQuery(page: PageQuery(limit: 1))).items.first).key
    for path in ["/issues", "/issues/\(key)", "/events", "/events/\(Sample.hex(1))", "/timeline", "/builds"] {
      let page = Self.text(try await get(path))
      #expect(page.contains("&lt;script&gt;") && !page.contains("<script>") && !page.contains("\u{202e}"), "\(path)")
    }
  }

  @Test("a page changes nothing, has its own plans, and ends after a limit with an advice")
  func limits() async throws {
    let settings = Statement(
      name: "settings",
      sql: """
        select current_setting('transaction_read_only'), current_setting('statement_timeout'),
          current_setting('plan_cache_mode')
        """)
    #expect(try await test.store.rows(settings, Parameters()) == [["on", "5s", "force_custom_plan"]])
    let holder = try TestPostgres.session(test.connection, "begin; lock table issue in access exclusive mode;")
    let page = try await get("/issues")
    #expect(page.status == 503 && Self.text(page).contains("since:24h"))
    try holder.end()
    #expect(try await get("/issues").status == 200)
  }

  @Test("without its database, a page has the status 503 and says what to check")
  func unavailable() async throws {
    let store = FleetStore(.init(connection: "host=/nowhere"))
    let site = try Site(source: FleetSource(store, tenant: 1, named: "shop"))
    let answer = await site.answer(PageRequest(target: "/issues"))
    #expect(answer.status == 503 && Self.text(answer).contains("crash-fleet doctor"))
    await store.close()
  }
}
