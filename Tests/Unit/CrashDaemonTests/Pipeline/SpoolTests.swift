import CShimRing
import CrashProtocol
import CrashReport
import CrashRing
import FoundationEssentials
import GRDB
import Glibc
import LinuxSystem
import TestKit
import Testing

@testable import CrashDaemon
@testable import CrashStore

@Suite("The spool")
struct SpoolTests {
  /// Writes a spool file as the handler does.
  ///
  /// The handler writes the whole ring into a partial file, and then renames it.
  static func leave(
    _ ring: TestRing, in spool: String, name: String? = nil, mode: UInt16 = 0o600, owner: UInt32? = nil
  ) throws {
    let path = "\(spool)/\(name ?? ring.id).ring"
    try Data(ring.bytes).write(to: URL(fileURLWithPath: path + ".partial"))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path + ".partial")
    if let owner, unsafe chown(path + ".partial", owner, owner) != 0 { throw SystemError("chown") }
    guard unsafe rename(path + ".partial", path) == 0 else { throw SystemError("rename") }
  }

  @Test("a ring spooled while crashd was stopped is stored at crashd's start, and its file is removed")
  func atStart() async throws {
    var ring = TestRing(pid: 4711)
    ring.addCrash()
    let left = ring
    try await TestDaemon.run(prepare: { try Self.leave(left, in: $0.spool) }) { daemon in
      let client = try await daemon.client()
      try await client.untilReports(1)
      let report = try await client.call("io.crashshield.Crashd.Get", ["id": .string(left.id)]).object("report")
      #expect(report.object("process").int("pid") == 4711)
      #expect(report.object("process").int("uid") == Int(geteuid()))
    }
  }

  @Test("a ring spooled while crashd runs is stored")
  func whileRunning() async throws {
    try await TestDaemon.run { daemon in
      var ring = TestRing()
      ring.addCrash()
      try Self.leave(ring, in: daemon.directories.spool)
      try await daemon.client().untilReports(1)
    }
  }

  @Test("a spool file that is not a ring of its owner is refused, removed and counted, and the next file is read")
  func refused() async throws {
    var good = TestRing(id: 9)
    good.addCrash()
    let ring = good
    let prepare: (Directories) throws -> Void = { directories in
      let spool = directories.spool
      let name = { (digit: String) in String(repeating: digit, count: 32) }
      try Self.leave(ring, in: spool, name: name("1"), mode: 0o620)
      try Self.leave(ring, in: spool, name: "not-a-ring")
      try Data("short".utf8).write(to: URL(fileURLWithPath: "\(spool)/\(name("2")).ring"))
      try FileManager.default.createSymbolicLink(
        atPath: "\(spool)/\(name("3")).ring", withDestinationPath: "/etc/passwd")
      _ = unsafe mkfifo("\(spool)/\(name("4")).ring", 0o600)
      try FileManager.default.createDirectory(
        atPath: "\(spool)/\(name("5")).ring", withIntermediateDirectories: false)
      try Self.leave(ring, in: spool, name: name("6"))
      _ = unsafe link("\(spool)/\(name("6")).ring", "\(directories.runtime)/second-name")
      try Self.leave(ring, in: spool)
    }
    try await TestDaemon.run(prepare: prepare) { daemon in
      let client = try await daemon.client()
      try await client.untilReports(1)
      try await client.until { try await daemon.refusals()["spool file"] == .int(7) }
      #expect(try await client.call("io.crashshield.Crashd.List").array("reports").count == 1)
      #expect(daemon.log.contains("refused spool file"))
      try await client.until {
        try FileManager.default.contentsOfDirectory(atPath: daemon.directories.spool).isEmpty
      }
    }
  }

  @Test("F12: an old partial file or directory is removed, even if its owner has set another file time")
  func partialFiles() throws {
    // The directory is on a tmpfs, as /run is.
    let path = "/dev/shm/cs-\(String(UInt32.random(in: .min ... .max), radix: 36))"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(atPath: path) } }
    for (name, seconds) in [("a", Int.min), ("b", 0), ("c", time(nil)), ("d", Int.max)] {
      let file = "\(path)/\(name).ring.partial"
      try Data([1]).write(to: URL(fileURLWithPath: file))
      let times = [timespec(tv_sec: seconds, tv_nsec: 0), timespec(tv_sec: seconds, tv_nsec: 0)]
      // utimensat() reads two timespecs.
      #expect(unsafe utimensat(AT_FDCWD, file, times, 0) == 0)
    }
    // Invariant: the C string is valid during the call.
    #expect(unsafe mkdir(path + "/e.ring.partial", 0o700) == 0)
    let spool = try SpoolDirectory(path: path)
    #expect(try spool.list(limit: 10).isEmpty)
    #expect(try FileManager.default.contentsOfDirectory(atPath: path).count == 5)
    #expect(try spool.list(limit: 10, at: time(nil) + 3_600).isEmpty)
    #expect(try FileManager.default.contentsOfDirectory(atPath: path).isEmpty)
  }

  @Test("a ring that cannot be opened for lack of descriptors stays in the spool")
  func noDescriptors() async {
    await #expect(processExitsWith: .success) {
      let directory = try TestDirectory()
      var ring = TestRing()
      ring.addCrash()
      try Self.leave(ring, in: directory.path)
      let spool = try SpoolDirectory(path: directory.path)
      let next = dup(0)
      close(next)
      var limit = rlimit(rlim_cur: UInt(next), rlim_max: UInt(next))
      // Invariant: setrlimit() reads one struct rlimit.
      guard unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { exit(1) }
      do throws(SpoolRefusal) {
        _ = try spool.open("\(ring.id).ring")
        exit(2)
      } catch {
        exit(error.isPassing ? 0 : 3)
      }
    }
  }

  @Test("rings are stored and removed while cross-checks of other rings still run")
  func secondUnwinding() async throws {
    let directory = try TestDirectory()
    let gate = "\(directory.path)/gate"
    #expect(unsafe mkfifo(gate, 0o600) == 0)
    let writer = Descriptor(owning: unsafe open(gate, O_RDWR | O_CLOEXEC))
    let script = "#!/bin/sh\ntest $1 = unwind && read line <'\(gate)'\nexit 65\n"
    let program = try directory.write(Array(script.utf8), to: "analyse", mode: 0o700)
    var limits = Limits.patient
    limits.unwind_ms = 600_000
    let prepare: (Directories) throws -> Void = { directories in
      for id in 1...5 {
        var ring = TestRing(id: UInt8(id))
        ring.addCrash(stack: [UInt8](repeating: 1, count: 64))
        try Self.leave(ring, in: directories.spool)
      }
    }
    try await TestDaemon.run(limits: limits, analysePath: program, prepare: prepare) { daemon in
      let client = try await daemon.client()
      try await client.untilReports(5)
      try await client.until {
        try FileManager.default.contentsOfDirectory(atPath: daemon.directories.spool).isEmpty
      }
      let findings = { try await client.call("io.crashshield.Crashd.Status").object("unwindings") }
      #expect(try await findings() == [:])
      #expect(unsafe write(writer.number, "\n\n\n\n\n", 5) == 5)
      while try await findings()["failed"] != .int(5) { await Task.yield() }
    }
    withExtendedLifetime(writer) {}
  }

  @Test("no report is made from a spooled ring without a crash")
  func empty() async throws {
    try await TestDaemon.run { daemon in
      try Self.leave(TestRing(), in: daemon.directories.spool)
      let client = try await daemon.client()
      try await client.until {
        try FileManager.default.contentsOfDirectory(atPath: daemon.directories.spool).isEmpty
      }
      #expect(try await client.call("io.crashshield.Crashd.List").array("reports").isEmpty)
    }
  }

  @Test("a spooled copy of an attached process's ring gives no second report, and is removed with the process")
  func attached() async throws {
    try await TestDaemon.run { daemon in
      // The ring contains a pid other than that of the connection, as if the process ran in a container.
      var ring = TestRing(pid: 4711)
      ring.addCrash()
      let process = try await daemon.attach()
      #expect(try await process.attach(ring.memory()) == .accepted)
      let client = try await daemon.client()
      try Self.leave(ring, in: daemon.directories.spool)
      #expect(try await client.awaitProcess().array("reports") == [.string(ring.id)])
      process.hangUp()
      try await Self.untilEmpty(daemon, client)
      let reports = try await client.call("io.crashshield.Crashd.List").array("reports")
      #expect(reports.count == 1)
      #expect(try await daemon.refusals() == [:])
    }
  }

  @Test("a connected process is registered before its spooled copy is read")
  func waiting() async throws {
    let daemon = try TestDaemon(TestDirectory())
    var ring = TestRing(pid: 4711)
    ring.addCrash()
    // The process connects before the daemon runs, so its connection waits in the queue of the socket at first.
    let process = try await daemon.attach()
    try process.send(TestProcess.hello(), [ring.memory()])
    try Self.leave(ring, in: daemon.directories.spool)
    let left = ring
    try await daemon.run { daemon in
      let client = try await daemon.client()
      #expect(try await client.awaitProcess().array("reports") == [.string(left.id)])
      process.hangUp()
      try await Self.untilEmpty(daemon, client)
      #expect(try await client.call("io.crashshield.Crashd.List").array("reports").count == 1)
    }
  }

  /// Runs a daemon that has stored the report of a process.
  ///
  /// The process was attached, and has ended.
  private static func withReport(
    _ ring: TestRing, _ body: (TestDaemon, TestClient, StoredReport) async throws -> Void
  ) async throws {
    try await TestDaemon.run { daemon in
      let process = try await daemon.attach()
      #expect(try await process.attach(ring.memory()) == .accepted)
      let client = try await daemon.client()
      process.hangUp()
      #expect(try await client.awaitProcess().array("reports") == [.string(ring.id)])
      try await client.until {
        try await client.call("io.crashshield.Crashd.Processes").array("processes").isEmpty
      }
      try await body(daemon, client, try daemon.store.report(idPrefix: ring.id))
    }
  }

  @Test("the spooled copy of a crash that is already stored is removed and causes no event")
  func stored() async throws {
    var ring = TestRing(pid: 4711)
    ring.addCrash()
    let copy = ring
    try await Self.withReport(ring) { daemon, client, before in
      try Self.leave(copy, in: daemon.directories.spool)
      try await Self.untilEmpty(daemon, client)
      #expect(try daemon.store.report(idPrefix: copy.id).cursor == before.cursor)
      #expect(try await client.call("io.crashshield.Crashd.List").array("reports").count == 1)
    }
  }

  @Test("a spooled copy with more data than the stored report replaces the report, and keeps the connected process")
  func more() async throws {
    var ring = TestRing(pid: 4711)
    ring.addCrash()
    var copy = ring
    copy.addCrash(slot: 1)
    let more = copy
    try await Self.withReport(ring) { daemon, client, before in
      #expect(try before.report.threads.count == 1)
      try Self.leave(more, in: daemon.directories.spool)
      try await Self.untilEmpty(daemon, client)
      let after = try daemon.store.report(idPrefix: more.id)
      #expect(after.cursor != before.cursor)
      #expect(try after.report.threads.count == 2)
      #expect(try after.report.process.pid == Int(getpid()))
      #expect(try await client.call("io.crashshield.Crashd.List").array("reports").count == 1)
    }
  }

  @Test("a spooled copy is read only if crashd can query whether its crash is stored")
  func outage() async throws {
    var ring = TestRing(pid: 4711)
    ring.addCrash()
    var copy = ring
    copy.addCrash(slot: 1)
    let more = copy
    try await Self.withReport(ring) { daemon, client, before in
      let outages = { try await client.call("io.crashshield.Crashd.Status").array("trouble") }
      // Without the table of raw records, a query about a spooled copy fails.
      try Self.move(table: "raw_records", to: "elsewhere", in: daemon)
      try Self.leave(more, in: daemon.directories.spool)
      try await client.until { try await !outages().isEmpty }
      guard case .string(let sentence)? = try await outages().first else { return }
      #expect(sentence.contains("cannot be stored") && sentence.hasSuffix("0 wait in memory, more in the spool"))
      try await client.until { daemon.log.contains("critical: reports cannot be stored") }
      #expect(try FileManager.default.contentsOfDirectory(atPath: daemon.directories.spool) == ["\(more.id).ring"])
      try Self.move(table: "elsewhere", to: "raw_records", in: daemon)
      try await Self.untilEmpty(daemon, client)
      let after = try daemon.store.report(idPrefix: more.id)
      #expect(after.cursor != before.cursor)
      #expect(try after.report.threads.count == 2)
      #expect(try after.report.process.pid == Int(getpid()))
      try await client.until { try await outages().isEmpty }
      try await client.until { daemon.log.contains("reports can be stored again") }
    }
  }

  @Test("a report that cannot be decoded is replaced by the report of a spooled copy")
  func unreadableReport() async throws {
    var ring = TestRing(pid: 4711)
    ring.addCrash()
    let copy = ring
    try await Self.withReport(ring) { daemon, client, _ in
      try await daemon.store.pool.write { try $0.execute(sql: "UPDATE reports SET json = 'x', pid = 4711") }
      #expect(throws: StoreError.unreadable(id: copy.id)) { try daemon.store.report(idPrefix: copy.id) }
      try Self.leave(copy, in: daemon.directories.spool)
      try await Self.untilEmpty(daemon, client)
      #expect(try daemon.store.report(idPrefix: copy.id).report.threads.count == 1)
      #expect(try await client.call("io.crashshield.Crashd.Status").array("trouble").isEmpty)
    }
  }

  private static func move(table: String, to name: String, in daemon: TestDaemon) throws {
    try daemon.store.pool.writeWithoutTransaction { database in
      try database.execute(sql: "ALTER TABLE \(table) RENAME TO \(name)")
    }
  }

  @Test("spool files whose reports cannot be stored are counted once, and other files are still read")
  func failing() async throws {
    var limits = Limits.patient
    limits.spoolFiles = 2
    let prepare: (Directories) throws -> Void = { directories in
      let store = try ReportStore(path: directories.reports)
      for id in 1...6 {
        var ring = TestRing(id: UInt8(id))
        ring.addCrash()
        try Self.leave(ring, in: directories.spool)
        if id.isMultiple(of: 3) { try Self.takeIdentifiers(of: ring, in: directories, store) }
      }
      try store.close()
    }
    let directory = try TestDirectory()
    let daemon = try TestDaemon(directory, limits: limits, prepare: prepare)
    let files = { try FileManager.default.contentsOfDirectory(atPath: daemon.directories.spool).count }
    try await daemon.run { daemon in try await daemon.client().until { try files() == 2 } }
    // The daemon has ended, so all of its work is done.
    #expect(try files() == 2)
    #expect(daemon.log.lines.count { $0.contains("cannot store the report of 'shop'") } == 2)
  }

  @Test("during a store outage spool files stay in the spool, without a loss and without buffering their reports")
  func fullStore() async throws {
    try await TestDaemon.run { daemon in
      let client = try await daemon.client()
      let status = { try await client.call("io.crashshield.Crashd.Status") }
      try Self.move(table: "raw_records", to: "elsewhere", in: daemon)
      for id in 1...3 {
        var ring = TestRing(id: UInt8(id))
        ring.addCrash()
        try Self.leave(ring, in: daemon.directories.spool)
      }
      try await client.until { try await !status().array("trouble").isEmpty }
      #expect(try await status().int("held") == 0)
      try Self.move(table: "elsewhere", to: "raw_records", in: daemon)
      try await Self.untilEmpty(daemon, client)
      try await client.until { try await status().array("trouble").isEmpty }
      #expect(try await status().int("reports") == 3)
      #expect(try await status().object("losses").isEmpty)
    }
  }

  /// Stores reports of another process under each id that crashd would use for the report of this ring.
  private static func takeIdentifiers(of ring: TestRing, in directories: Directories, _ store: ReportStore) throws {
    let process = try #require(try SpoolDirectory(path: directories.spool).open("\(ring.id).ring"))
    let derived = (1..<CrashAnalysis.attempts).map { CrashAnalysis.derived(process.facts, $0) }
    for id in [ring.id] + derived {
      var report = try CrashReport.sample(id: id)
      report.process.uid = Int(geteuid()) + 1
      _ = try store.put(report, raw: [])
    }
  }

  @Test("crashd distinguishes an open spool file from a file that replaces it")
  func identity() throws {
    let directory = try TestDirectory()
    let ring = TestRing()
    try Self.leave(ring, in: directory.path)
    let spool = try SpoolDirectory(path: directory.path)
    let name = "\(ring.id).ring"
    let first = spool.identity(of: name)
    let process = try spool.open(name)
    #expect(first != nil && spool.identity(of: name) == first)
    for _ in 0..<3 {
      try Self.leave(ring, in: directory.path)
      #expect(spool.identity(of: name) != first)
    }
    try spool.remove(name)
    #expect(spool.identity(of: name) == nil)
    withExtendedLifetime((directory, process)) {}
  }

  @Test("a process that connects after its spool file was read has one report, with the pid of the connection")
  func connectedLater() async throws {
    try await TestDaemon.run { daemon in
      var ring = TestRing(pid: 4711)
      ring.addCrash()
      try Self.leave(ring, in: daemon.directories.spool)
      let client = try await daemon.client()
      try await Self.untilEmpty(daemon, client)
      #expect(try daemon.store.report(idPrefix: ring.id).report.process.pid == 4711)
      let process = try await daemon.attach()
      #expect(try await process.attach(ring.memory()) == .accepted)
      #expect(try await client.awaitProcess().array("reports") == [.string(ring.id)])
      #expect(try await client.call("io.crashshield.Crashd.List").array("reports").count == 1)
      #expect(try daemon.store.report(idPrefix: ring.id).report.process.pid == Int(getpid()))
    }
  }

  @Test("a spool file with the name of another ring is refused")
  func misnamed() throws {
    let directory = try TestDirectory()
    var ring = TestRing()
    ring.addCrash()
    let name = String(repeating: "a", count: 32)
    try Self.leave(ring, in: directory.path, name: name)
    let spool = try SpoolDirectory(path: directory.path)
    #expect(throws: SpoolRefusal(owner: Peer(pid: 0, uid: geteuid()), reason: "has the name of another ring")) {
      try spool.open("\(name).ring")
    }
    withExtendedLifetime(directory) {}
  }

  @Test("a process's own spooled copy and its partial file are removed with the process")
  func removal() throws {
    let directory = try TestDirectory()
    let ring = TestRing()
    try Self.leave(ring, in: directory.path)
    try Data([1]).write(to: URL(fileURLWithPath: "\(directory.path)/\(ring.id).ring.partial"))
    let spool = try SpoolDirectory(path: directory.path)
    let names = { try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() }
    spool.removeCopy(of: ring.id, owner: geteuid() + 1)
    #expect(try names() == ["\(ring.id).ring", "\(ring.id).ring.partial"])
    spool.removeCopy(of: ring.id, owner: geteuid())
    #expect(try names().isEmpty)
  }

  @Test("all spool files are read, even if they do not fit into one listing of the directory")
  func manyFiles() async throws {
    var limits = Limits.patient
    limits.spoolFiles = 2
    let prepare: (Directories) throws -> Void = { directories in
      for id in 1...5 {
        var ring = TestRing(id: UInt8(id))
        ring.addCrash()
        try Self.leave(ring, in: directories.spool)
      }
    }
    try await TestDaemon.run(limits: limits, prepare: prepare) { daemon in
      let client = try await daemon.client()
      try await client.untilReports(5)
      try await Self.untilEmpty(daemon, client)
    }
  }

  @Test(
    "a spool file that another user gave the name of an attached ring is stored as a crash of that user",
    .enabled(if: geteuid() == 0))
  func stranger() async throws {
    try await TestDaemon.run { daemon in
      var ring = TestRing(pid: 4711)
      ring.addCrash()
      let process = try await daemon.attach()
      #expect(try await process.attach(ring.memory()) == .accepted)
      let client = try await daemon.client()
      _ = try await client.awaitProcess()
      try Self.leave(ring, in: daemon.directories.spool, owner: 4711)
      try await client.untilReports(2)
      let users = try await client.call("io.crashshield.Crashd.List").array("reports").map { report -> Int? in
        guard case .object(let report) = report else { return nil }
        return report.int("uid")
      }
      #expect(Set(users) == [0, 4711])
    }
  }

  @Test(
    "a spool file is read if it has an unstored record, or more threads of a stored crash",
    arguments: [
      (records: [[0, 1]], threads: 0, hasNews: false), (records: [[0, 1]], threads: 1, hasNews: true),
      (records: [[0, 2]], threads: 0, hasNews: true), (records: [[0, 1], [1, 1]], threads: 0, hasNews: true),
      (records: [], threads: 0, hasNews: false), (records: [[0, 0]], threads: 5, hasNews: false),
    ] as [(records: [[UInt64]], threads: Int, hasNews: Bool)])
  func news(records: [[UInt64]], threads: Int, hasNews: Bool) throws {
    var ring = TestRing()
    ring.addCrash()
    let stored = CrashAnalysis.Seen(try ring.contents())
    #expect(stored.records == [[0, 1]])
    var found = stored
    found.records = records
    found.threads = Array(repeating: 7, count: threads)
    #expect(SpooledRing.hasNews(found, beside: stored) == hasNews)
  }

  static func untilEmpty(_ daemon: TestDaemon, _ client: TestClient) async throws {
    try await client.until {
      try FileManager.default.contentsOfDirectory(atPath: daemon.directories.spool).isEmpty
    }
  }
}
