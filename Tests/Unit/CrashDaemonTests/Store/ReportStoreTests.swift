import CrashProtocol
import CrashReport
@testable import CrashStore
import FoundationEssentials
import Glibc
import TestKit
import Testing

@Suite("The report store")
struct ReportStoreTests {
  @Test("a report is replaced only if it has not changed in the meantime")
  func replacing() throws {
    try withStore { store in
      let first = try store.put(sample(id: "ab"), raw: [1])
      guard case .inserted(let cursor) = first else {
        Issue.record("\(first)")
        return
      }
      var second = sample(id: "ab")
      second.reason = "second"
      _ = try store.put(second, raw: [2])
      var third = sample(id: "ab")
      third.reason = "third"
      #expect(throws: StoreError.changedMeanwhile(id: "ab")) { try store.put(third, raw: [3], replacing: cursor) }
      let now = try store.reportAndRaw(idPrefix: "ab")
      #expect(now.report.reason == "second" && now.raw == [2])
      _ = try store.put(third, raw: [3], replacing: now.cursor)
      #expect(try store.report(idPrefix: "ab").report.reason == "third")
    }
  }

  @Test("a stored report is read back unchanged by a prefix of its id")
  func roundTrip() throws {
    try withStore { store throws in
      let report = sample(id: "ab12", name: "shop")
      #expect(try store.put(report, raw: [1, 2, 3]) == .inserted(StoreCursor(epoch: store.epoch, sequence: 1)))
      #expect(try store.report(idPrefix: "ab").report == report)
      #expect(try store.report(idPrefix: "AB").report == report)
      #expect(try store.report(idPrefix: nil).report == report)
      #expect(try store.raw(id: "ab12") == [1, 2, 3])
      #expect(try store.count() == 1)
    }
  }

  @Test("F6: a report of a process with more privileges than its user is hidden from that user, and keeps the uid")
  func restricted() throws {
    try withStore { store in
      var report = sample(id: "ab12")
      report.process.uid = 1_000
      report.process.isRestricted = true
      _ = try store.put(report, raw: [1])
      #expect(try store.list(visibility: .user(1_000), limit: 9).isEmpty)
      #expect(throws: StoreError.noSuchReport(id: "ab")) {
        try store.report(idPrefix: "ab", visibility: .user(1_000))
      }
      #expect(try store.groups(visibility: .user(1_000), limit: 9).isEmpty)
      #expect(try store.list(limit: 9).map(\.uid) == [1_000])
      #expect(try store.groups(limit: 9).map(\.uid) == [1_000])
      report.reason = "again"
      guard case .updated = try store.put(report, raw: [1]) else {
        Issue.record("it is another report")
        return
      }
      // A later report of the same crash is not marked as restricted. It replaces the stored report, and stays hidden
      // from the user.
      (report.process.isRestricted, report.reason) = (nil, "once more")
      guard case .updated = try store.put(report, raw: [1]) else {
        Issue.record("it is another report")
        return
      }
      #expect(try store.count(visibility: .user(1_000)) == 0 && store.count() == 1)
      #expect(try store.report(idPrefix: "ab").report.process.isRestricted == true)
      _ = try store.remove(idPrefix: "ab")
      #expect(try store.put(report, raw: [1]) == .unchanged && store.count() == 0)
    }
  }

  @Test("an id prefix that matches no report or several is refused with an error that names it")
  func prefixes() throws {
    try withStore { store in
      _ = try store.put(sample(id: "ab12"), raw: [])
      _ = try store.put(sample(id: "ab34"), raw: [])
      #expect(throws: StoreError.ambiguous(id: "ab", count: 2)) { try store.report(idPrefix: "ab") }
      #expect(throws: StoreError.noSuchReport(id: "cd")) { try store.report(idPrefix: "cd") }
      #expect(throws: StoreError.noSuchReport(id: "*")) { try store.report(idPrefix: "*") }
    }
  }

  @Test("F3: a page of events has at most the requested bytes, but at least one event")
  func eventPages() throws {
    try withStore { store in
      for id in ["ab12", "cd34", "ef56"] {
        var report = sample(id: id)
        report.reason = String(repeating: "x", count: 10_000)
        _ = try store.put(report, raw: [])
      }
      var (cursor, pages) = (StoreCursor(epoch: store.epoch, sequence: 0), [[String]]())
      repeat {
        let page = try store.eventPage(after: cursor, limit: 9, limitBytes: pages.isEmpty ? 25_000 : 1)
        pages.append(page.events.map(\.id))
        cursor = page.end
        if page.isLast { break }
      } while pages.count < 9
      #expect(pages == [["ab12", "cd34"], ["ef56"]])
      #expect(try store.eventPage(after: cursor, limit: 9).events.isEmpty)
    }
  }

  @Test("a changed report gets a new cursor; an unchanged report does not")
  func update() throws {
    try withStore { store in
      var report = sample(id: "ab12")
      _ = try store.put(report, raw: [1])
      _ = try store.put(sample(id: "cd34"), raw: [])
      report.timing = CrashReport.Timing(entry_ns: 1, commit_ns: 2, stored_ns: 3)
      #expect(try store.put(report, raw: [1]) == .unchanged)
      report.losses = ["torn": 1]
      #expect(try store.put(report, raw: [2]) == .updated(StoreCursor(epoch: store.epoch, sequence: 3)))
      #expect(try store.raw(id: "ab12") == [2])
      let events = try store.events(after: StoreCursor(epoch: store.epoch, sequence: 0), limit: 10)
      #expect(events.map(\.id) == ["cd34", "ab12"])
    }
  }

  @Test("an amended report keeps its cursor, and is amended only if it has not changed in the meantime")
  func amend() throws {
    try withStore { store in
      var report = sample(id: "ab12")
      _ = try store.put(report, raw: [1])
      let stored = try store.report(idPrefix: "ab12")
      report.unwinding = [.init(tid: 1, agreement: .equal, shown: .handler, common: 3, found: 3)]
      #expect(try store.amend(report, at: stored.cursor))
      #expect(try store.report(idPrefix: "ab12").report == report)
      #expect(try store.newestCursor() == stored.cursor)
      #expect(try store.raw(id: "ab12") == [1])
      report.reason = "another"
      _ = try store.put(report, raw: [2])
      let late = try stored.report
      #expect(try !store.amend(late, at: stored.cursor))
      #expect(try store.report(idPrefix: "ab12").report.reason == "another")
    }
  }

  @Test("a process cannot replace the report of another process", arguments: [(1000, 8), (1001, 7)])
  func foreignIdentifier(uid: Int, pid: Int) throws {
    try withStore { store in
      _ = try store.put(sample(id: "ab12", pid: 7, uid: 1000), raw: [])
      #expect(throws: StoreError.identifierTaken(id: "ab12")) {
        try store.put(sample(id: "ab12", pid: pid, uid: uid), raw: [])
      }
      #expect(try store.report(idPrefix: "ab12").report.process.pid == 7)
    }
  }

  @Test("the newest report is that of the latest crash, even if an earlier crash was stored after it")
  func newest() throws {
    try withStore { store in
      var (late, early) = (sample(id: "aa"), sample(id: "bb"))
      late.time = "2026-11-21T08:10:12.000000Z"
      early.time = "2026-11-21T08:10:11.999999Z"
      _ = try store.put(late, raw: [])
      _ = try store.put(early, raw: [])
      #expect(try store.report(idPrefix: nil).report.id == "aa")
    }
  }

  @Test("a user sees only the reports of its own processes")
  func visibility() throws {
    try withStore { store in
      _ = try store.put(sample(id: "aa", uid: 1000), raw: [])
      _ = try store.put(sample(id: "bb", uid: 1001), raw: [])
      let first = StoreCursor(epoch: store.epoch, sequence: 0)
      #expect(try store.list(visibility: .user(1000), limit: 10).map(\.id) == ["aa"])
      #expect(try store.list(visibility: .all, limit: 10).map(\.id) == ["bb", "aa"])
      #expect(try store.events(after: first, visibility: .user(1001), limit: 10).map(\.id) == ["bb"])
      #expect(try store.count(visibility: .user(1002)) == 0)
      #expect(throws: StoreError.noSuchReport(id: "aa")) {
        try store.report(idPrefix: "aa", visibility: .user(1001))
      }
    }
  }

  @Test("the next page of a list has earlier reports and uses the same filter")
  func paging() throws {
    try withStore { store in
      for index in 10..<15 {
        let time = "2026-11-21T08:00:\(index).000000Z"
        _ = try store.put(sample(id: "aa\(index)", name: index.isMultiple(of: 2) ? "even" : "odd", time: time), raw: [])
      }
      let page = try store.list(limit: 2)
      #expect(page.map(\.id) == ["aa14", "aa13"])
      #expect(
        try store.list(before: page.last.flatMap { StoreCursor($0.cursor, of: store.epoch) }, limit: 9).map(\.id) == [
          "aa12", "aa11", "aa10",
        ])
      #expect(try store.list(ReportFilter(name: "dd"), limit: 9).map(\.id) == ["aa13", "aa11"])
      #expect(try store.list(ReportFilter(name: "d%"), limit: 9).isEmpty)
      let filter = ReportFilter(since: "2026-11-21T08:00:11.000000Z", until: "2026-11-21T08:00:12.000000Z")
      #expect(try store.list(filter, limit: 9).map(\.id) == ["aa12", "aa11"])
    }
  }

  @Test("a page of reports has the oldest or newest first, and the count of further reports", arguments: [false, true])
  func pages(isOldestFirst: Bool) throws {
    try withStore { store in
      for index in 10..<15 { _ = try store.put(sample(id: "aa\(index)", uid: 1000 + index % 2), raw: []) }
      let all = isOldestFirst ? [10, 11, 12, 13, 14] : [14, 13, 12, 11, 10]
      var found: [String] = []
      var last: StoreCursor?
      for (count, more) in [(2, 3), (2, 1), (1, 0), (0, 0)] {
        let page = try store.page(
          before: isOldestFirst ? nil : last, after: isOldestFirst ? last : nil, isOldestFirst: isOldestFirst, limit: 2,
          counts: true)
        #expect(page.reports.count == count && page.more == more)
        found += page.reports.map(\.id)
        last = page.reports.last.flatMap { StoreCursor($0.cursor, of: store.epoch) } ?? last
      }
      #expect(found == all.map { "aa\($0)" })
      let own = try store.page(visibility: .user(1000), isOldestFirst: isOldestFirst, limit: 1, counts: true)
      #expect(own.reports.map(\.uid) == [1000] && own.more == 2)
      let none = try store.page(ReportFilter(name: "none"), limit: 2, counts: true)
      #expect(none.reports.isEmpty && none.more == 0)
      #expect(try store.page(limit: 0, counts: true).more == 5)
      #expect(try store.page(limit: 2).more == nil)
    }
  }

  @Test("filters by unit, signal and part of the path match the same reports in lists and in events")
  func filters() throws {
    try withStore { store in
      var (shop, other) = (sample(id: "aa"), sample(id: "bb"))
      shop.process.unit = "shop.service"
      shop.process.executable = "/srv/100%/shop"
      shop.signal.name = "SIGBUS"
      other.process.unit = nil
      other.process.executable = "/srv/other"
      other.signal.name = "SIGFPE"
      for report in [shop, other] { _ = try store.put(report, raw: []) }
      let first = StoreCursor(epoch: store.epoch, sequence: 0)
      for (filter, ids) in [
        (ReportFilter(unit: "shop.service"), ["aa"]), (ReportFilter(unit: "shop"), []),
        (ReportFilter(signal: "SIGFPE"), ["bb"]), (ReportFilter(signal: "SIG"), []),
        (ReportFilter(executable: "100%"), ["aa"]), (ReportFilter(executable: "/srv"), ["bb", "aa"]),
        (ReportFilter(unit: "shop.service", signal: "SIGFPE"), []),
      ] {
        #expect(try store.list(filter, limit: 9).map(\.id) == ids)
        #expect(try store.events(after: first, filter, limit: 9).map(\.id) == ids.reversed())
      }
      #expect(try store.groups(ReportFilter(executable: "none"), limit: 9).isEmpty)
    }
  }

  @Test("a list of reports has the topmost in-app function of each report")
  func summary() throws {
    try withStore { store in
      _ = try store.put(sample(id: "aa"), raw: [])
      let summary = try #require(try store.list(limit: 1).first)
      #expect(summary.function == "Shop.buy(_:)")
      #expect(summary.file == "/src/Shop.swift")
      #expect(summary.line == 12)
      #expect(summary.signal == "SIGILL")
    }
  }

  @Test("a cursor of another store, or of future events, is refused")
  func foreignCursor() throws {
    try withStore { store in
      _ = try store.put(sample(id: "aa"), raw: [])
      for cursor in [
        StoreCursor(epoch: StoreEpoch(id: "0123456789abcdef"), sequence: 0),
        StoreCursor(epoch: store.epoch, sequence: 2),
      ] {
        #expect(throws: StoreError.invalidCursor(cursor.description)) { try store.events(after: cursor, limit: 1) }
      }
      #expect(try store.newestCursor().sequence == 1)
    }
  }

  @Test("a database and its log are readable by their owner only, even if they had other modes before")
  func privacy() throws {
    let directory = try TestDirectory()
    let path = directory.path + "/r.sqlite"
    let files = ["", "-wal", "-shm"].map { path + $0 }
    func modes() throws -> [mode_t] {
      try files.map { file in
        var status = stat()
        // Invariant: stat() writes one struct stat.
        try #require(unsafe stat(file, &status) == 0)
        return status.st_mode & 0o777
      }
    }
    let first = try ReportStore(path: path)
    _ = try first.put(sample(id: "aa"), raw: [])
    #expect(try modes() == [0o600, 0o600, 0o600])
    for file in files { #expect(unsafe chmod(file, 0o644) == 0) }
    let second = try ReportStore(path: path)
    #expect(try modes() == [0o600, 0o600, 0o600])
    try first.close()
    try second.close()
  }

  @Test("reports and cursors survive a restart of crashd")
  func reopen() throws {
    let directory = try TestDirectory()
    let path = directory.path + "/r.sqlite"
    let first = try ReportStore(path: path)
    _ = try first.put(sample(id: "aa"), raw: [])
    let cursor = try first.newestCursor()
    try first.close()
    let second = try ReportStore(path: path)
    #expect(try second.newestCursor() == cursor)
    #expect(try second.list(limit: 9).map(\.id) == ["aa"])
    try second.close()
  }

  @Test("a file that is not a database is refused with an error that names it and left unchanged")
  func noDatabase() throws {
    let directory = try TestDirectory()
    let path = directory.path + "/r.sqlite"
    let bytes = Data(String(repeating: "no database ", count: 100).utf8)
    try bytes.write(to: URL(fileURLWithPath: path))
    let error = #expect(throws: StoreError.self) { try ReportStore(path: path) }
    #expect(error?.isCorruption == true)
    #expect(error?.description.contains(path) == true)
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == bytes)
  }

  @Test("the error for a path that cannot be opened has the reason")
  func unavailable() throws {
    let error = #expect(throws: StoreError.self) { try ReportStore(path: "/nowhere/r.sqlite") }
    guard case .unavailable(let path, let reason) = error else {
      Issue.record("not unavailable: \(String(describing: error))")
      return
    }
    #expect(path == "/nowhere/r.sqlite")
    #expect(!reason.isEmpty)
  }

  @Test("every event of concurrent writers is read exactly once, in order")
  func concurrentWriters() async throws {
    let directory = try TestDirectory()
    let store = try ReportStore(path: directory.path + "/r.sqlite")
    try await withThrowingTaskGroup { group in
      for writer in 0..<4 {
        group.addTask {
          for index in 0..<25 { _ = try store.put(sample(id: "a\(writer)\(index + 10)"), raw: []) }
        }
      }
      var cursor = StoreCursor(epoch: store.epoch, sequence: 0)
      var seen: [StoreCursor] = []
      while seen.count < 100 {
        for event in try store.events(after: cursor, limit: 7) {
          seen.append(event.cursor)
          cursor = event.cursor
        }
        await Task.yield()
      }
      #expect(seen.map(\.sequence) == Array(1...100))
      try await group.waitForAll()
    }
    try store.close()
  }
}

private func withStore(_ body: (ReportStore) throws -> Void) throws {
  let directory = try TestDirectory()
  let store = try ReportStore(path: directory.path + "/r.sqlite")
  try body(store)
  try store.close()
}

private func sample(
  id: String, name: String = "shop", pid: Int = 7, uid: Int = 1000, time: String = "2026-11-21T08:00:00.000000Z"
) -> CrashReport {
  let signal = CrashReport.Signal(number: 4, name: "SIGILL", code: 2, codeName: "ILL_ILLOPN", address: 0x1000)
  let frames = [
    CrashReport.Frame(address: 0x1000, function: "Array.subscript.getter", mangled: "$sSayxSicig", trust: .context),
    CrashReport.Frame(
      address: 0x2000, function: "Shop.buy(_:)", mangled: "$s4shop", file: "/src/Shop.swift", line: 12, isOwn: true,
      trust: .cfi),
  ]
  return CrashReport(
    id: id, time: time,
    process: CrashReport.ProcessIdentity(
      pid: pid, uid: uid, name: name, executable: "/srv/shop", buildID: "ff", startTime: time),
    signal: signal, reason: "Fatal error",
    diagnosis: CrashReport.Diagnosis(cause: "c", sentence: "s", rule: "r", confidence: 1),
    threads: [CrashReport.CrashedThread(tid: 8, name: "main", crashed: true, signal: signal, frames: frames)],
    images: [], group: CrashReport.Group(key: "k", title: "t"))
}
