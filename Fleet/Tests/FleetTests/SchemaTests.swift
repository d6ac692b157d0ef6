import Synchronization
import Testing

@testable import FleetStore

@Suite("Schema")
struct SchemaTests {
  @Test("a second migration changes nothing, and concurrent ones do not collide")
  func again() async throws {
    let connection = try TestPostgres.database()
    let stores = (0..<3).map { _ in FleetStore(.init(connection: connection)) }
    let applied = try await withThrowingTaskGroup(of: [String].self) { group in
      for store in stores { group.addTask { try await store.migrate() } }
      return try await group.reduce([]) { $0 + $1 }
    }
    // Each store can apply some of the steps, and the stores end in any order.
    #expect(applied.sorted() == Migration.all.map(\.name).sorted())
    try await stores[0].checkSchema()
  }

  @Test("a database without schema says which command creates it")
  func missing() async throws {
    let store = FleetStore(.init(connection: try TestPostgres.database()))
    await #expect { try await store.checkSchema() } throws: { "\($0)".contains("run crash-fleet migrate") }
  }

  @Test("the migration to the sums of builds and programs adds the hours that an older program stored")
  func sums() async throws {
    let test = try await TestStore()
    _ = try await test.ingest([Sample.report(1), Sample.report(2, build: "b2"), Sample.report(3, program: "cart")])
    let sums = """
      select * from alias_build order by 1, 2; select tenant, program, hour, crashes from program_hour order by 2;
      select * from alias_hour_sum order by 1, 2; select alias, host, crashes from alias_host order by 1, 2
      """
    let expected = try test.query(sums)
    _ = try test.query(
      """
      drop table alias_build, alias_hour_sum, program_hour; alter table alias_host drop column crashes;
      delete from migration where version = 4
      """)
    #expect(try await test.store.migrate() == [Migration.all[3].name])
    #expect(try test.query(sums) == expected && expected.split(separator: "\n").count == 9)
    _ = try await test.ingest([Sample.report(4)])
    #expect(try test.hasSum(4))
  }

  @Test("the service drops whole partitions that are too old, and a migration drops none")
  func retention() async throws {
    let test = try await TestStore()
    let day: Int64 = 86_400
    _ = try await test.ingest((0..<20).map { Sample.report(UInt128($0), age_s: Int64($0) * day) })
    var configuration = test.store.configuration
    configuration.reportDays = 5
    let shorter = FleetStore(configuration)
    #expect(try await shorter.migrate() == [])
    #expect(try test.query("select count(*) from report") == "20")
    try await shorter.maintain()
    #expect(try test.query("select count(*) from report") == "6")
    // Five past days, today, three future days, and the partition for times that are too far in the future.
    #expect(try test.query("select count(*) from pg_inherits where inhparent = 'report'::regclass") == "10")
    #expect(try test.query("select count(*) from pg_class where relname ~ '^report_p' and relkind = 'r'") == "10")
    // Retention does not remove issues and counters.
    #expect(try test.hasSum(20))
    _ = try test.query(
      """
      insert into program_hour select tenant, 'old', timestamptz '2001-01-01', 0, 1 from program_hour limit 1;
      insert into program_hour select tenant, 'unknown', timestamptz 'epoch', 0, 1 from program_hour limit 1
      """)
    try await shorter.maintain()
    #expect(try test.query("select program from program_hour where program <> 'shop'") == "unknown")
    // A dropped report that is sent again is expired, and not counted again.
    #expect(
      try await shorter.ingest([Sample.report(15, age_s: 15 * day)], tenant: test.tenant, now_us: Sample.now_us)
        == [.expired])
  }

  @Test("ingest creates the partitions that are missing after a long pause")
  func missingPartitions() async throws {
    let test = try await TestStore()
    _ = try test.query("drop table report_p\(try test.query("select to_char(current_date, 'YYYYMMDD')"))")
    #expect(try await test.ingest([Sample.report(1)]) == [.stored])
  }

  @Test("a migration under load loses and repeats nothing")
  func underLoad() async throws {
    let test = try await TestStore(connections: 6)
    let indexes =
      "drop index report_host_newest, report_build_newest, host_name; delete from migration where version = 3"
    _ = try test.query(indexes)
    let columns = Migration(
      version: 1_000, name: "test",
      sql: """
        alter table report add column extra text;
        alter table issue add column extra text not null default 'x';
        create index report_test on report (tenant, received);
        """)
    // A flag ends the load, because a canceled task would refuse the batch that waits for a connection.
    let isDone = Mutex(false)
    let load = Task {
      var next = 0
      while !isDone.withLock({ $0 }) {
        let ids = next..<next + 20
        _ = try await test.ingest(ids.map { Sample.report(UInt128($0), group: "g\($0 % 3)") })
        next = ids.upperBound
      }
      return next
    }
    while try test.query("select count(*) > 100 from report") != "t" { await Task.yield() }
    #expect(try await test.store.migrate(Migration.all + [columns]) == [Migration.all[2].name, "test"])
    let before = try #require(Int(try test.query("select count(*) from report")))
    while try test.query("select count(*) > \(before + 100) from report") != "t" { await Task.yield() }
    isDone.withLock { $0 = true }
    let sent = try await load.value
    #expect(try test.query("select count(*) from report") == "\(sent)")
    #expect(try test.hasSum(sent))
  }

  @Test("doctor warns of a database without standbys")
  func doctor() async throws {
    let test = try await TestStore()
    let findings = try await test.store.diagnose(now_us: Sample.now_us)
    #expect(findings.contains { $0.level == .bad && $0.text.hasPrefix("fsync is off") })
    #expect(findings.contains { $0.level == .warning && $0.text.hasPrefix("synchronous_standby_names is empty") })
    let host = IncomingHost(machine: 1, name: "late")
    var position = IncomingPosition(host: host, stream: "s", position: "c")
    position.time_us = Sample.now_us + 3_600_000_000
    _ = try await test.ingest([.position(position)])
    let later = try await test.store.diagnose(now_us: Sample.now_us)
    #expect(later.contains { $0.level == .warning && $0.text.contains("clock of host 'late' is 3") })
  }
}
