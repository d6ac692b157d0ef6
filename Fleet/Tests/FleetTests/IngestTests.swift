import Synchronization
import Testing

@testable import FleetStore

@Suite("Ingest")
struct IngestTests {
  @Test("a batch that arrives twice is stored and counted once")
  func twice() async throws {
    let test = try await TestStore()
    let batch = (1...40).map { Sample.report(UInt128($0), group: "g\($0 % 4)", host: UInt128($0 % 3)) }
    #expect(try await test.ingest(batch) == Array(repeating: .stored, count: 40))
    #expect(try await test.ingest(batch) == Array(repeating: .duplicate, count: 40))
    #expect(try test.query("select count(*) from report") == "40")
    #expect(try test.hasSum(40))
    #expect(try test.query("select sum(hosts) from issue") == "12")
  }

  @Test("a torn and reordered batch is stored and counted once")
  func torn() async throws {
    let test = try await TestStore()
    let batch = (1...30).map { Sample.report(UInt128($0), group: "g\($0 % 4)") }
    _ = try await test.ingest(Array(batch.prefix(11)))
    _ = try await test.ingest(batch.reversed())
    _ = try await test.ingest(Array(batch[5..<25]) + batch.prefix(7))
    #expect(try test.query("select count(*) from report") == "30")
    #expect(try test.hasSum(30))
  }

  @Test("the same report twice in one batch is stored once, with its newest revision")
  func twiceInOneBatch() async throws {
    let test = try await TestStore()
    let outcomes = try await test.ingest([
      Sample.report(1, revision: 1, body: "{\"a\":1}"), Sample.report(1, revision: 3, body: "{\"a\":3}"),
      Sample.report(1, revision: 2, body: "{\"a\":2}"),
    ])
    #expect(outcomes == [.stored, .duplicate, .duplicate])
    #expect(try test.query("select convert_from(body, 'UTF8') from report") == "{\"a\":3}")
    #expect(try test.hasSum(1))
  }

  @Test("a later revision replaces the report and moves its crash to the new group; an earlier one changes nothing")
  func revisions() async throws {
    let test = try await TestStore()
    _ = try await test.ingest([Sample.report(1, group: "old", revision: 5)])
    #expect(try await test.ingest([Sample.report(1, group: "new", revision: 9)]) == [.updated])
    #expect(try await test.ingest([Sample.report(1, group: "old", revision: 7)]) == [.duplicate])
    #expect(
      try test.query("select string_agg(key || crashes, ',' order by key) from alias a join issue i on i.id = a.issue")
        == "new1,old0")
    #expect(try test.hasSum(1))
  }

  @Test("two reports that swap their groups in one batch change the counts of their hosts")
  func swap() async throws {
    let test = try await TestStore()
    _ = try await test.ingest([Sample.report(1, group: "a", host: 1), Sample.report(2, group: "b", host: 2)])
    let swapped = [
      Sample.report(1, group: "b", revision: 2, host: 1), Sample.report(2, group: "a", revision: 2, host: 2),
    ]
    #expect(try await test.ingest(swapped) == [.updated, .updated])
    let counts = "select string_agg(crashes::text, ' ' order by alias, host) from alias_host"
    #expect(try test.query(counts) == "0 1 1 0")
    #expect(try await test.store.issues(tenant: test.tenant).map(\.hosts) == [2, 2])
    #expect(try test.hasSum(2))
  }

  @Test("counters keep the highest value of a run, whatever the order, and add up over runs")
  func counters() async throws {
    let test = try await TestStore()
    for value in [3, 10, 10, 4] { _ = try await test.ingest([Sample.count(Int64(value))]) }
    #expect(try test.hasSum(10))
    _ = try await test.ingest([Sample.count(5, run: 2), Sample.report(1), Sample.count(2, host: 8)])
    #expect(try test.hasSum(18))
    #expect(try test.query("select hosts from issue") == "2")
  }

  @Test("the highest counters of many runs add up without an overflow")
  func highestCounters() async throws {
    let test = try await TestStore()
    _ = try await test.ingest((1...1_000).map { Sample.count(1_000_000_000, run: $0) })
    #expect(try test.hasSum(1_000_000_000_000))
  }

  @Test("concurrent batches of many hosts lose and repeat nothing, and do not deadlock")
  func concurrent() async throws {
    let test = try await TestStore(connections: 6)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<12 {
        group.addTask {
          // Two tasks send each report, in different orders and batches.
          let ids = (0..<100).map { UInt128(task / 2 * 100 + $0) }
          let ordered = task % 2 == 0 ? ids : ids.reversed()
          for start in stride(from: 0, to: 100, by: 10 + task % 2 * 10) {
            let part = ordered[start..<min(100, start + 10 + task % 2 * 10)]
            _ = try await test.ingest(part.map { Sample.report($0, group: "g\($0 % 7)", host: $0 % 9) })
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try test.query("select count(*) from report") == "600")
    #expect(try test.hasSum(600))
    #expect(try test.query("select count(*) from issue") == "7")
  }

  @Test("tenants with the same ids do not see or change each other's reports")
  func tenants() async throws {
    let test = try await TestStore()
    _ = try await test.store.addToken(tenant: "other", name: "test")
    let other = try #require(try await test.store.tenant(named: "other"))
    _ = try await test.ingest([Sample.report(1, revision: 1)])
    let outcomes = try await test.store.ingest(
      [Sample.report(1, revision: 9, body: "{\"x\":1}")], tenant: other, now_us: Sample.now_us)
    #expect(outcomes == [.stored])
    #expect(try test.query("select count(*) from report where revision = 1 and tenant = \(test.tenant)") == "1")
    #expect(try await test.store.issues(tenant: other).map(\.crashes) == [1])
    #expect(try await test.store.issues(tenant: test.tenant).map(\.crashes) == [1])
  }

  @Test("a database that lost or renumbered hosts, builds and groups gets them again, and mixes up none")
  func replacedDatabase() async throws {
    let test = try await TestStore()
    _ = try await test.ingest([Sample.report(1, group: "g1", host: 1, build: "b1"), Sample.count(2, host: 1)])
    // This is the state after a failover to a standby that lacks the last transactions.
    _ = try test.query(
      """
      truncate report, counter, alias_hour, alias_hour_sum, alias_build, program_hour, alias_host, host_cursor, alias,
      issue, build, host restart identity
      """)
    let other = FleetStore(test.store.configuration)
    let strange = [Sample.report(2, group: "g9", host: 9, program: "mail", build: "b9")]
    #expect(try await other.ingest(strange, tenant: test.tenant, now_us: Sample.now_us) == [.stored])
    #expect(
      try await test.ingest([
        Sample.report(1, group: "g1", host: 1, build: "b1"), Sample.report(3, group: "g1", host: 1, build: "b1"),
      ]) == [.stored, .stored])
    #expect(
      try test.query(
        """
        select h.name, b.build, a.key, count(*) from report r join host h on h.id = r.host join build b on b.id = r.build
        join alias a on a.id = r.alias group by 1, 2, 3 order by 1
        """) == "web-1|b1|g1|2\nweb-9|b9|g9|1")
    #expect(try test.hasSum(3))
  }

  @Test("names that differ only in their Unicode form are different builds and groups, as in the database")
  func unicodeForms() async throws {
    let test = try await TestStore()
    let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}")
    for number in 0..<2 {
      let batch = [composed, decomposed].enumerated().map { at, name in
        Sample.report(UInt128(10 * number + at), group: name, program: name, build: name)
      }
      #expect(try await test.ingest(batch) == [.stored, .stored])
    }
    #expect(test.store.dimensions.withLock { [$0.builds.count, $0.aliases.count] } == [2, 2])
    #expect(
      try test.query("select count(distinct b.id), count(distinct a.id), count(*) from build b, alias a") == "2|2|4")
    #expect(try test.hasSum(4))
  }

  @Test("a batch whose cached primary keys are wrong removes only these from the cache")
  func staleBatch() async throws {
    let test = try await TestStore()
    _ = try await test.ingest([Sample.report(1, group: "g1", host: 1, build: "b1")])
    _ = try await test.ingest([Sample.report(2, group: "g2", host: 2, build: "b2")])
    _ = try test.query("update build set build = 'other' where build = 'b1'")
    #expect(try await test.ingest([Sample.report(3, group: "g1", host: 1, build: "b1")]) == [.stored])
    #expect(test.store.dimensions.withLock { [$0.hosts.count, $0.builds.count, $0.aliases.count] } == [2, 2, 2])
    #expect(
      try test.query("select b.build, count(*) from report r join build b on b.id = r.build group by 1 order by 1")
        == "b1|1\nb2|1\nother|1")
  }

  @Test("a batch whose host does not appear in the database is stale, and is stored later")
  func missingRow() async throws {
    let test = try await TestStore()
    _ = try test.query(
      """
      create function skip() returns trigger language plpgsql as 'begin return null; end';
      create trigger skip before insert on host for each row when (new.name = 'web-2') execute function skip()
      """)
    let batch = [Sample.report(1, host: 1), Sample.report(2, host: 2)]
    await #expect(throws: FleetError.stale) { try await test.ingest(batch) }
    _ = try test.query("drop trigger skip on host")
    #expect(try await test.ingest(batch) == [.stored, .stored])
    #expect(try test.query("select string_agg(name, ',' order by machine) from host") == "web-1,web-2")
  }

  @Test("looking up known hosts and builds uses up no numbers")
  func numbers() async throws {
    let test = try await TestStore()
    for id in 1...3 {
      // A new store has an empty cache.
      let store = FleetStore(test.store.configuration)
      _ = try await store.ingest([Sample.report(UInt128(id))], tenant: test.tenant, now_us: Sample.now_us)
      await store.close()
    }
    _ = try await test.ingest([Sample.report(9, host: 9, build: "b9")])
    #expect(try test.query("select (select max(id) from host), (select max(id) from build)") == "2|2")
  }

  @Test("a lost connection empties the cache of hosts, builds and groups")
  func lostConnection() async throws {
    let test = try await TestStore()
    _ = try await test.ingest([Sample.report(1)])
    #expect(test.store.dimensions.withLock { $0.hosts.count } == 1)
    _ = try test.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'crash-fleet' and datname = current_database()"
    )
    #expect(try await test.ingest([Sample.report(2, host: 8)]) == [.stored])
    #expect(test.store.dimensions.withLock { $0.hosts.count } == 1)
    #expect(try test.hasSum(2))
  }

  @Test("a report older than the retention is acknowledged as expired; one far in the future is stored")
  func times() async throws {
    let test = try await TestStore()
    let day: Int64 = 86_400
    let outcomes = try await test.ingest([
      Sample.report(1, age_s: 29 * day), Sample.report(2, age_s: 32 * day), Sample.report(3, age_s: -1_000 * day),
      Sample.report(4, age_s: -day), Sample.report(5, age_s: 3_600),
    ])
    #expect(outcomes == [.stored, .expired, .stored, .stored, .stored])
    #expect(try test.query("select count(*) from report_p0") == "1")
    #expect(try test.hasSum(4))
  }

  @Test("the position of a host is stored with its batch, and is the position of this stream only")
  func position() async throws {
    let test = try await TestStore()
    let host = IncomingHost(machine: 7, name: "web-7")
    _ = try await test.ingest([
      Sample.report(1), .position(IncomingPosition(host: host, stream: "s@1", position: "c9")),
    ])
    #expect(try await test.store.position(tenant: test.tenant, machine: 7, stream: "s@1") == "c9")
    #expect(try await test.store.position(tenant: test.tenant, machine: 7, stream: "s@2") == nil)
    #expect(try await test.store.position(tenant: test.tenant + 1, machine: 7, stream: "s@1") == nil)
  }
}
