import CrashProtocol
import CrashReport
import FoundationEssentials
import GRDB
import TestKit
import Testing

@testable import CrashStore

@Suite("Groups of use-after-free incidents")
struct DanglingGroupTests {
  private static func frame(_ function: String, line: Int? = nil, isOwn: Bool = true) -> CrashReport.Frame {
    CrashReport.Frame(
      address: Address(0x1000), function: function, mangled: function, file: "/src/Shop.swift", line: line,
      image: "/srv/shop", isOwn: isOwn, trust: .cfi)
  }

  private static func incident(
    _ key: String, ring: String = "aa", uid: Int = 0, program: String = "shop", kind: IncidentReport.Kind = "call",
    source: IncidentReport.Source = "quarantine", count: Int = 1, function: String = "serve()", line: Int = 12,
    subject: String = "App.Session", mode: IncidentReport.Mode = "zero", build: String = "b1",
    last: String = "2026-11-21T10:00:00Z", age_ns: Int? = 2_000_000, release: String = "drop()",
    confidence: IncidentReport.Confidence = "certain"
  ) -> IncidentReport {
    IncidentReport(
      id: "\(ring)-\(key)", first: "2026-11-21T09:00:00Z", last: last, count: count,
      process: IncidentReport.Process(pid: 7, uid: uid, name: program, executable: "/srv/shop", buildID: build),
      source: source, kind: kind, mode: mode, subject: subject, sentence: "", confidence: confidence,
      method: kind == "call" ? "Session.greet()" : nil, useThread: 7,
      use: [frame("swift_retain", isOwn: false), frame(function, line: line)],
      object: age_ns.map {
        IncidentReport.Object(
          address: Address(0x5000), record: 1, age_ns: $0, thread: 8, release: [frame(release)])
      })
  }

  private static func store(of incidents: [IncidentReport]) throws -> (store: ReportStore, directory: TestDirectory) {
    let directory = try TestDirectory()
    let store = try ReportStore(path: directory.path + "/r.sqlite")
    try store.put(incidents: incidents)
    return (store, directory)
  }

  private static func groups(of incidents: [IncidentReport]) throws -> [DanglingGroup] {
    let (store, directory) = try store(of: incidents)
    defer { withExtendedLifetime(directory) {} }
    let groups = try store.danglingGroups(limit: 100)
    try store.close()
    return groups
  }

  @Test("use-after-frees at one call site are one group, also across processes and builds")
  func together() throws {
    let groups = try Self.groups(of: [
      Self.incident("1", count: 3, confidence: "probable"),
      Self.incident(
        "2", ring: "bb", count: 4, line: 14, mode: "absorb", build: "b2", last: "2026-11-21T11:00:00Z",
        age_ns: 9_000_000, release: "close()"),
      Self.incident("3", ring: "bb", count: .max, age_ns: 1_000, confidence: "probable"),
      Self.incident("4", ring: "bb", count: .min, age_ns: nil),
    ])
    let group = try #require(groups.first)
    #expect(groups.count == 1 && group.id == "bb-2" && group.processes == 2 && group.builds == 2)
    #expect(group.program == "shop" && group.className == "App.Session" && group.kind == "call")
    #expect(group.method == "Session.greet()" && group.place == "serve()")
    #expect(group.line == "Shop.swift:14" && group.releases == 2 && group.modes == ["absorb", "zero"])
    #expect(group.age_ns == 2_000_000 && group.confidence == "certain")
    #expect(group.first == "2026-11-21T09:00:00Z" && group.last == "2026-11-21T11:00:00Z")
    // One of the processes is hostile, and has written the largest possible count. The sum stays at this value, without
    // a trap.
    #expect(group.count == .max)
  }

  @Test("groups differ by program, class, access kind, call site and user; the last seen group comes first")
  func apart() throws {
    let groups = try Self.groups(of: [
      Self.incident("1"), Self.incident("2", subject: "App.Cart"), Self.incident("3", kind: "write", age_ns: nil),
      Self.incident("4", function: "close()", last: "2026-11-22T10:00:00Z"), Self.incident("5", program: "till"),
      Self.incident("6", uid: 7), Self.incident("7", confidence: "probable"),
    ])
    #expect(groups.count == 6 && groups.first?.place == "close()")
    #expect(groups.map(\.id) == ["aa-4", "aa-7", "aa-6", "aa-5", "aa-3", "aa-2"])
    let written = try #require(groups.first { $0.kind == "write" })
    #expect(written.method == nil && written.age_ns == nil && written.releases == 0)
  }

  @Test("use-after-free groups include guard slot accesses, but not out-of-bounds accesses or guard incidents")
  func slots() throws {
    let groups = try Self.groups(of: [
      Self.incident("1", kind: "read", source: "pages"), Self.incident("2", kind: "overflow", source: "pages"),
      Self.incident("3", kind: "index", source: "guard"),
    ])
    #expect(groups.map(\.kind) == ["read"])
  }

  @Test("a user sees the groups of its own processes, and a filter by program and time restricts the counts")
  func filters() throws {
    var restricted = Self.incident("1", uid: 7, count: 2)
    restricted.process.isRestricted = true
    let (store, directory) = try Self.store(of: [
      restricted, Self.incident("2", uid: 7, count: 4), Self.incident("3", uid: 8, count: 8),
      Self.incident("4", uid: 7, program: "till", last: "2026-11-23T10:00:00Z"),
    ])
    defer { withExtendedLifetime(directory) {} }
    #expect(try store.danglingGroups(name: "ho", limit: 9).map(\.count) == [8, 6])
    #expect(try store.danglingGroups(name: "ho", visibility: .user(7), limit: 9).map(\.count) == [4])
    #expect(try store.danglingGroups(since: "2026-11-22", limit: 9).map(\.program) == ["till"])
    #expect(try store.danglingGroups(visibility: .user(9), limit: 9).isEmpty)
    #expect(try store.danglingGroups(limit: 0).isEmpty && store.danglingGroups(offset: 3, limit: 9).isEmpty)
    try store.close()
  }

  @Test("a repeated incident is counted once in its group, and an evicted incident no longer counts")
  func again() throws {
    let (store, directory) = try Self.store(of: [Self.incident("1", count: 3), Self.incident("2", count: 1)])
    defer { withExtendedLifetime(directory) {} }
    try store.put(incidents: [Self.incident("1", count: 9)])
    #expect(try store.danglingGroups(limit: 9).map(\.count) == [10])
    try store.pool.write { try $0.execute(sql: "DELETE FROM incidents WHERE id = 'aa-2'") }
    #expect(try store.danglingGroups(limit: 9).map(\.count) == [9])
    try store.close()
  }

  @Test("2,500 call sites give 2,500 groups, each with all its incidents, page by page")
  func many() throws {
    let sites = ManySites()
    let (store, directory) = try Self.store(of: sites.incidents)
    defer { withExtendedLifetime(directory) {} }
    let pages = try [0, 1_000, 2_000, 3_000].map { try store.danglingGroups(offset: $0, limit: 1_000) }
    #expect(pages.map(\.count) == [1_000, 1_000, 500, 0])
    sites.expect(Array(pages.joined()))
    try store.close()
  }

  @Test("long strings of a hostile process do not make a page of groups exceed its limit")
  func bounded() throws {
    let long = String(repeating: "\u{1}ü", count: 2_000)
    let groups = try Self.groups(
      of: (0..<40).map { number in
        var incident = Self.incident(
          "\(number)", program: "\(number)" + long, kind: .init("call" + long), function: long, subject: long,
          mode: .init(long), build: long, last: long, release: long, confidence: .init(long))
        (incident.method, incident.use[1].file) = (long, long)
        return incident
      })
    #expect(groups.count == 40 && groups.allSatisfy { long.hasPrefix($0.className) && !$0.className.isEmpty })
    // One byte of a string becomes at most six bytes in JSON. The strings use less than the limit, which leaves room
    // for the names of the fields.
    #expect(try JSONEncoder().encode(groups).count <= 40 * 6 * UseAfterFree.rowBytes)
    #expect(try Self.groups(of: [Self.incident(long)]).isEmpty)
  }

  @Test("a migrated store lists the same groups as a store that counted the incidents from the beginning")
  func migration() throws {
    let incidents =
      ManySites().incidents.prefix(200) + [
        Self.incident("index", kind: "index", source: "guard"), Self.incident("read", kind: "read", source: "pages"),
      ]
    let directory = try TestDirectory()
    let path = directory.path + "/old.sqlite"
    let old = try DatabasePool(path: path)
    try StoreSchema.migrator.migrate(old, upTo: "v11")
    try old.write { database in
      try database.execute(sql: "PRAGMA application_id = \(StoreSchema.applicationID)")
      let insert = "INSERT INTO incidents (id, uid, name, subject, source, last, json) VALUES (?, ?, ?, ?, ?, ?, ?)"
      for incident in incidents {
        try database.execute(
          sql: insert,
          arguments: [
            incident.id, incident.process.uid, incident.process.name, incident.subject, incident.source.rawValue,
            incident.last,
            try JSONEncoder().encode(incident),
          ])
      }
      // Two bad rows: the JSON of x-1 is invalid, and x-2 contains the incident of another row.
      for (id, json) in [("x-1", Data("{".utf8)), ("x-2", try JSONEncoder().encode(incidents[0]))] {
        try database.execute(sql: insert, arguments: [id, 0, "shop", "s", "quarantine", "2026", json])
      }
    }
    try old.close()
    let store = try ReportStore(path: path)
    let new = try ReportStore(path: directory.path + "/new.sqlite")
    try new.put(incidents: Array(incidents))
    let groups = try store.danglingGroups(limit: 1_000)
    #expect(groups.count > 100 && groups.contains { $0.kind == "read" } && !groups.contains { $0.kind == "index" })
    #expect(groups == (try new.danglingGroups(limit: 1_000)))
    try store.close()
    try new.close()
  }

  @Test("the migration fills groups from the newest incidents, up to its limit")
  func fill() throws {
    let (store, directory) = try Self.store(of: [Self.incident("1"), Self.incident("2", function: "close()")])
    defer { withExtendedLifetime(directory) {} }
    let groups = try store.danglingGroups(limit: 9)
    try store.pool.write { database in
      try database.execute(sql: "DELETE FROM use_after_frees")
      let bytes = try Int.fetchOne(database, sql: "SELECT max(length(json)) FROM incidents") ?? 0
      try UseAfterFree.fill(in: database, limitBytes: bytes)
    }
    #expect(try store.danglingGroups(limit: 9).map(\.place) == ["close()"])
    let aside = try store.startAnew(because: "a test", at: "2026-11-22T10:00:00.000000Z")
    #expect(try store.danglingGroups(limit: 9).isEmpty)
    _ = try store.rescue(aside)
    #expect(try store.danglingGroups(limit: 9) == groups)
    try store.close()
  }
}
