import CrashProtocol
import CrashReport
import FoundationEssentials
import GRDB
import Glibc
import LinuxSystem
import TestKit
import Testing

@testable import CrashDaemon
@testable import CrashStore

@Suite("The store keeper")
struct StoreKeeperTests {
  private static let own = "io.crashshield.Crashd"

  @Test("a group of reports is pruned as soon as it exceeds its limit, and its count stays exact")
  func thinned() async throws {
    try await TestDaemon.run(configure: { $0.settings.retention.reportsPerGroup = 8 }) { daemon in
      for _ in 0..<40 {
        _ = try daemon.store.put(.sample(id: randomID()), raw: [1])
        daemon.hub.notify()
      }
      let client = try await daemon.client()
      try await client.until { try await client.call("\(Self.own).Status").int("reports") == 8 }
      let groups = try await client.call("\(Self.own).Groups").array("groups")
      guard case .object(let group)? = groups.first else { throw SystemError("find the group", code: ENOENT) }
      #expect(group.int("count") == 40)
    }
  }

  @Test("retention at the start also prunes earlier reports")
  func thinnedAtStart() async throws {
    let directory = try TestDirectory()
    try await TestDaemon(directory).run { daemon in
      for _ in 0..<20 { _ = try daemon.store.put(.sample(id: randomID()), raw: []) }
    }
    try await TestDaemon(directory, configure: { $0.settings.retention.reportsPerGroup = 5 }).run { daemon in
      let client = try await daemon.client()
      try await client.until { try await client.call("\(Self.own).Status").int("reports") == 5 }
    }
  }

  @Test("while the disk is full, reports are buffered and a critical line is logged; they are stored later")
  func fullDisk() async throws {
    try await TestDaemon.run { daemon in
      // With this limit of pages, SQLite returns its error for a full disk.
      try limitPages(of: daemon.store, more: 0)
      let client = try await daemon.client()
      let process = try await daemon.attach()
      var ring = TestRing()
      ring.addCrash()
      #expect(try await process.attach(try ring.memory()) == .accepted)
      try process.wake()
      let status = { try await client.call("\(Self.own).Status") }
      try await client.until { try await status().int("held") == 1 }
      guard case .string(let sentence)? = try await status().array("trouble").first else {
        Issue.record("the status reports no outage")
        return
      }
      #expect(sentence.contains("full") && sentence.contains("1 wait in memory"))
      try await client.until { daemon.log.contains("critical: reports cannot be stored") }
      #expect(try await status().int("reports") == 0)

      try limitPages(of: daemon.store, more: 100_000)
      daemon.analysis.outage.wake()
      try await client.until { try await status().int("reports") == 1 }
      try await client.until { try await status().array("trouble").isEmpty }
      #expect(try await status().int("held") == 0)
      try await client.until { daemon.log.contains("reports can be stored again") }
      #expect(try await client.awaitProcess().array("reports") == [.string(ring.id)])
    }
  }

  @Test("F16: crashd starts without its store, buffers crashes in memory, and stores them as soon as it can")
  func closedAtStart() async throws {
    var path = ""
    // Puts a directory in place of the database file, which SQLite then cannot open. crashd gets an error, as it does
    // if the disk is full.
    let block = { (directories: Directories) in
      path = directories.reports
      try FileManager.default.createDirectory(atPath: directories.reports, withIntermediateDirectories: false)
    }
    try await TestDaemon.run(prepare: block) { daemon in
      #expect(daemon.log.contains("critical: cannot use '\(daemon.store.path)'"))
      let client = try await daemon.client()
      let status = { try await client.call("\(Self.own).Status") }
      let process = try await daemon.attach()
      var ring = TestRing()
      ring.addCrash()
      #expect(try await process.attach(try ring.memory()) == .accepted)
      try process.wake()
      try await client.until { try await status().int("held") == 1 }
      guard case .string(let sentence)? = try await status().array("trouble").first else {
        Issue.record("the status reports no outage")
        return
      }
      #expect(sentence.contains("cannot be stored") && sentence.contains("1 wait in memory"))

      var incidents = daemon.hub.news(of: .incidents).makeAsyncIterator()
      try FileManager.default.removeItem(atPath: path)
      daemon.analysis.outage.wake()
      try await client.until { try await status().int("reports") == 1 }
      // The opened store can contain incidents, so crashd has woken the clients that follow incidents.
      #expect(await incidents.next() != nil)
      try await client.until { try await status().array("trouble").isEmpty }
      #expect(try daemon.store.list(limit: 9).map(\.id) == [ring.id])
    }
  }

  @Test("F18: a removed database is reported, and crashd's reports are in the new database", arguments: [false, true])
  func removed(isWithDirectory: Bool) async throws {
    let directory = try TestDirectory()
    var ids = (0..<30).map { _ in randomID() }
    try await TestDaemon(directory).run { daemon in
      for id in ids { _ = try daemon.store.put(.sample(id: id), raw: [1]) }
      let removed = isWithDirectory ? daemon.directories.state : daemon.store.path
      try FileManager.default.removeItem(atPath: removed)
      let client = try await daemon.client()
      // crashd detects the removal when it stores this crash, and not only at its next periodic check.
      let process = try await daemon.attach()
      var ring = TestRing()
      ring.addCrash()
      ids.append(ring.id)
      #expect(try await process.attach(try ring.memory()) == .accepted)
      try process.wake()
      let status = { try await client.call("\(Self.own).Status") }
      try await client.until { try await status().int("reports") == 31 }
      guard case .string(let sentence)? = try await status().array("trouble").first else {
        Issue.record("the status reports no outage")
        return
      }
      #expect(sentence.contains("was removed while crashd used it; the open database was copied to a new file"))
      #expect(daemon.log.contains("critical: the report database"))
    }
    try await TestDaemon(directory).run { daemon in
      let found = try daemon.store.list(limit: 99).map(\.id)
      #expect(found.sorted() == ids.sorted())
    }
  }

  @Test("buffered reports are bounded, and reports beyond the limit are counted as lost")
  func noRoom() async throws {
    var limits = Limits.patient
    limits.heldReports = 1
    let outage = StoreOutage(limits: limits)
    let error = StoreError.unavailable(path: "/x", reason: "full")
    let item = { (id: String) in
      try StoreOutage.Held(
        report: .sample(id: id), raw: [1, 2], owner: Peer(pid: 7, uid: 1000), process: "shop", keptName: "kept-\(id)")
    }
    #expect(try outage.hold(item("aa"), because: error))
    #expect(try !outage.hold(item("bb"), because: error))
    // The report aa is already in the buffer, so buffering it again needs no space.
    #expect(try outage.hold(item("aa"), because: error))
    #expect(outage.count == 1 && outage.isHolding(pid: 7) && !outage.isHolding(pid: 8))
    #expect(outage.mayForget("kept-bb") && !outage.mayForget("kept-aa"))
    #expect(outage.release("aa")?.mayForget == true)
    #expect(outage.first == nil)
  }

  @Test("a corrupt database is set aside and reported, and its readable reports are in the new database")
  func corrupt() async throws {
    let directory = try TestDirectory()
    let ids = (0..<100).map { _ in randomID() }
    var path = ""
    try await TestDaemon(directory).run { daemon in
      path = daemon.store.path
      for id in ids { _ = try daemon.store.put(.sample(id: id, bytes: 3_000), raw: [1]) }
    }
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    bytes.replaceSubrange(100 * 4_096..<103 * 4_096, with: Data(repeating: 0xa5, count: 3 * 4_096))
    try bytes.write(to: URL(fileURLWithPath: path))
    try await TestDaemon(directory).run { daemon in
      let client = try await daemon.client()
      let outages = { try await client.call("\(Self.own).Status").array("trouble") }
      try await client.until { try await !outages().isEmpty }
      guard case .string(let sentence)? = try await outages().first else { return }
      #expect(sentence.contains("was corrupt and is kept as '\(path).corrupt-"))
      let count = try #require(try await client.call("\(Self.own).Status").int("reports"))
      #expect(count > 80 && count < 100)
      #expect(daemon.log.contains("critical"))
      _ = try daemon.store.put(.sample(id: "new"), raw: [])
      #expect(try daemon.store.list(limit: 1).map(\.id) == ["new"])
    }
  }

  @Test("a raw record whose report is lost is reanalyzed, and only root may see the result")
  func orphan() async throws {
    try await TestDaemon.run { daemon in
      var ring = TestRing()
      ring.addCrash()
      let memory = try ring.memory()
      let raw = try RingExcerpt.read(descriptor: memory.number)
      #expect(await daemon.analysis.restore(ReportStore.Orphan(id: ring.id, raw: raw)))
      let report = try daemon.store.report(idPrefix: ring.id).report
      #expect(report.process.name == "shop" && report.process.uid == Int(geteuid()))
      #expect(await !daemon.analysis.restore(ReportStore.Orphan(id: "aa", raw: [1, 2, 3])))
    }
  }

  @Test("after a clock jump, no report expires until the clock has kept the new time for an hour")
  func clock() {
    var watch = ClockWatch()
    let hour: UInt64 = 3_600_000_000_000
    let moments: [(real: UInt64, boot: UInt64)] = [
      (100 * hour, 1), (101 * hour, hour),
      // The clock jumps forward by a year, and then back.
      (9_000 * hour, hour + 1), (9_000 * hour + 2, hour + 3), (101 * hour, hour + 4),
      // The clock jumps forward again, and keeps this time. After an hour, crashd trusts the clock.
      (9_000 * hour, hour + 5), (9_001 * hour + 5, 2 * hour + 6),
    ]
    let trusted = moments.map { watch.isTrusted(real: $0.real, boot: $0.boot) }
    #expect(trusted == [true, true, false, false, true, false, true])
  }

  @Test("a clock that jumps far forward and then back by half of that time makes no report expire")
  func clockHalfBack() {
    var watch = ClockWatch()
    let hour: UInt64 = 3_600_000_000_000, year = 8_766 * hour
    let moments: [(real: UInt64, boot: UInt64)] = [
      (40 * year, 1), (70 * year, 2),
      // The clock goes back by 10 years. This is still 20 years after the first time.
      (60 * year, 3), (60 * year + hour, 2 + hour), (60 * year + hour + 1, 3 + hour),
    ]
    let trusted = moments.map { watch.isTrusted(real: $0.real, boot: $0.boot) }
    #expect(trusted == [true, false, false, false, true])
  }

  @Test("the method Prune lists the reports that it would remove, then removes them; groups still count them")
  func prune() async throws {
    try await TestDaemon.run { daemon in
      var old = try CrashReport.sample(id: "aa")
      old.time = "2020-01-01T00:00:00.000000Z"
      _ = try daemon.store.put(old, raw: [])
      _ = try daemon.store.put(.sample(id: "bb"), raw: [])
      // Only Prune can remove the old report, because the test daemon has no retention.
      let client = try await daemon.client()
      let before: [String: JSONValue] = ["before": .string("2021-01-01T00:00:00Z")]
      let dry = try await client.call("\(Self.own).Prune", before.merging(["dryRun": .bool(true)]) { $1 })
      #expect(dry.int("removed") == 1)
      #expect(try daemon.store.count() == 2)
      #expect(try await client.call("\(Self.own).Prune", before).int("removed") == 1)
      #expect(try daemon.store.list(limit: 9).map(\.id) == ["bb"])
      #expect(try daemon.store.groups(limit: 9).map(\.count).reduce(0, +) == 2)
    }
  }

  @Test("the method Remove removes either all named reports or none")
  func remove() async throws {
    try await TestDaemon.run { daemon in
      for id in ["aa", "bb", "cc"] { _ = try daemon.store.put(.sample(id: id), raw: []) }
      let client = try await daemon.client()
      try await client.send("\(Self.own).Remove", ["ids": .array([.string("aa"), .string("dd")])])
      #expect(try await client.reply().string("error") == "\(Self.own).NoSuchReport")
      #expect(try daemon.store.count() == 3)
      let reply = try await client.call("\(Self.own).Remove", ["ids": .array([.string("aa"), .string("b")])])
      #expect(reply.array("removed") == [.string("aa"), .string("bb")])
      #expect(try daemon.store.list(limit: 9).map(\.id) == ["cc"])
    }
  }

  @Test("a subscriber that connects late gets the count of removed events and the remaining events")
  func expired() async throws {
    try await TestDaemon.run { daemon in
      let start = JSONValue.string("\(daemon.store.epoch)-0")
      for id in ["aa", "bb", "cc"] { _ = try daemon.store.put(.sample(id: id), raw: []) }
      _ = try daemon.store.remove(idPrefix: "aa")
      _ = try daemon.store.remove(idPrefix: "bb")
      let client = try await daemon.client()
      try await client.send("\(Self.own).Subscribe", ["cursor": start], more: true)
      let error = try await client.reply()
      #expect(error.string("error") == "\(Self.own).CursorExpired")
      #expect(error.object("parameters") == ["lost": .int(2), "exact": .bool(true)])
      try await client.send("\(Self.own).Subscribe", ["cursor": start, "expired": .bool(true)], more: true)
      #expect(try await client.reply().object("parameters").int("lost") == 2)
      #expect(try await client.reply().object("parameters").object("report").string("id") == "cc")
    }
  }

  private func limitPages(of store: ReportStore, more: Int) throws {
    try store.pool.writeWithoutTransaction { database in
      let pages = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
      try database.execute(sql: "PRAGMA max_page_count = \(pages + more)")
    }
  }

  private func randomID() -> String {
    let digits = String(UInt64.random(in: .min ... .max), radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
