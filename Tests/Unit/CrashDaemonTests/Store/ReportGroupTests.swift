import CrashProtocol
import CrashReport
import CrashStore
import FoundationEssentials
import TestKit
import Testing

@Suite("Groups of reports")
struct ReportGroupTests {
  /// Runs the body with a store of reports.
  ///
  /// Each report has a group, a minute and a build.
  private func withStore(_ reports: [CrashReport], _ body: (ReportStore) throws -> Void) throws {
    let directory = try TestDirectory()
    let store = try ReportStore(path: directory.path + "/r.sqlite")
    for report in reports { _ = try store.put(report, raw: []) }
    try body(store)
    try store.close()
  }

  private func report(
    _ id: String, group: String, minute: Int, build: String = "aa", uid: Int = 1000, name: String = "shop",
    pid: Int = 7, unit: String? = nil, signal: Int = 4
  ) -> CrashReport {
    let time = "2026-11-21T08:0\(minute):00.000000Z"
    let signal = CrashReport.Signal(
      number: signal, name: SignalNames.name(of: signal), code: 2,
      codeName: SignalNames.codeName(of: 2, signal: signal))
    return CrashReport(
      id: id, time: time,
      process: CrashReport.ProcessIdentity(
        pid: pid, uid: uid, name: name, executable: "/srv/shop", buildID: build, startTime: time, unit: unit),
      signal: signal,
      reason: "", diagnosis: CrashReport.Diagnosis(cause: "c", sentence: "s", rule: "r", confidence: 1), threads: [],
      images: [], group: CrashReport.Group(key: group, title: "title of \(id)"))
  }

  @Test("a group has the releases of its first and last crash, and can be found by release, environment and tags")
  func releases() throws {
    var reports = [
      report("a1", group: "cafe", minute: 1), report("a2", group: "cafe", minute: 2),
      report("a3", group: "cafe", minute: 3), report("b1", group: "beef", minute: 4),
    ]
    (reports[0].release, reports[0].environment) = ("shop@1", "test")
    (reports[2].release, reports[2].environment) = ("shop@2", "live")
    (reports[2].annotations, reports[3].annotations) = (["region": "eu"], ["region": "eu"])
    try withStore(reports) { store in
      let groups = try store.groups(limit: 9)
      #expect(groups.map(\.sentence) == ["s", "s"])
      #expect(groups.map(\.firstRelease) == [nil, "shop@1"] && groups.map(\.lastRelease) == [nil, "shop@2"])
      let counts = { (filter: ReportFilter) in
        try store.groups(filter, limit: 9).map { "\($0.key) \($0.count) \($0.report)" }
      }
      #expect(try counts(ReportFilter(release: "shop@1")) == ["cafe 1 a1"])
      #expect(try counts(ReportFilter(release: "shop@")).isEmpty)
      #expect(try counts(ReportFilter(environment: "live")) == ["cafe 1 a3"])
      #expect(try counts(ReportFilter(tags: ["region=eu"])) == ["beef 1 b1", "cafe 1 a3"])
      #expect(try counts(ReportFilter(group: "ca", release: "shop@2", tags: ["region=eu"])) == ["cafe 1 a3"])
      #expect(try counts(ReportFilter(release: "shop@2", environment: "test")).isEmpty)
      _ = try store.remove(idPrefix: "a1")
      #expect(try store.groups(limit: 9).last?.count == 2)
      #expect(try counts(ReportFilter(release: "shop@1")).isEmpty)
      let left = try store.list(limit: 9)
      #expect(left.map(\.release) == [nil, "shop@2", nil] && left.map(\.environment) == [nil, "live", nil])
    }
  }

  @Test("a group has its count, first and last time, builds and programs")
  func facts() throws {
    // The reports are stored in an order that differs from the order of their crashes.
    let reports = [
      report("a2", group: "cafe", minute: 3, build: "bb", name: "till"), report("a1", group: "cafe", minute: 1),
      report("b1", group: "beef", minute: 2),
    ]
    try withStore(reports) { store in
      let groups = try store.groups(limit: 9)
      #expect(groups.map(\.key) == ["cafe", "beef"])
      let first = try #require(groups.first)
      #expect(first.count == 2 && first.builds == 2)
      #expect(first.first == reports[1].time && first.last == reports[0].time)
      #expect(first.firstBuild == "aa" && first.lastBuild == "bb")
      #expect(first.names == ["shop", "till"])
      #expect(first.report == "a2" && first.title == "title of a2")
      #expect(try store.groups(limit: 1).map(\.key) == ["cafe"])
      #expect(try store.groups(offset: 1, limit: 1).map(\.key) == ["beef"])
      #expect(try store.groups(offset: 2, limit: 9).isEmpty)
      #expect(try store.groups(ReportFilter(name: "ti"), limit: 9).map(\.key) == ["cafe"])
      #expect(try store.groups(ReportFilter(group: "be"), limit: 9).map(\.key) == ["beef"])
      #expect(try store.groups(ReportFilter(since: "2026-11-21T08:02:30.000000Z"), limit: 9).map(\.count) == [1])
      #expect(try store.list(ReportFilter(group: "ca"), limit: 9).map(\.id) == ["a1", "a2"])
    }
  }

  @Test("a filter by process, unit or signal restricts groups to stored reports that match, without pruned reports")
  func reportFilters() throws {
    let reports = [
      report("a1", group: "cafe", minute: 1, pid: 1, unit: "shop.service"),
      report("a2", group: "cafe", minute: 2, pid: 2, unit: "till.service", signal: 11),
      report("b1", group: "beef", minute: 3, pid: 1),
    ]
    try withStore(reports) { store in
      let counts = { (filter: ReportFilter) in
        try store.groups(filter, limit: 9).map { "\($0.key) \($0.count) \($0.report)" }
      }
      #expect(try counts(ReportFilter(pid: 1)) == ["beef 1 b1", "cafe 1 a1"])
      #expect(try counts(ReportFilter(pid: 1, group: "ca")) == ["cafe 1 a1"])
      #expect(try counts(ReportFilter(unit: "till.service")) == ["cafe 1 a2"])
      #expect(try counts(ReportFilter(signal: "SIGILL")) == ["beef 1 b1", "cafe 1 a1"])
      #expect(try counts(ReportFilter(unit: "till.service", signal: "SIGILL")).isEmpty)
      _ = try store.remove(before: reports[1].time)
      #expect(try counts(ReportFilter()) == ["beef 1 b1", "cafe 2 a2"])
      #expect(try counts(ReportFilter(signal: "SIGSEGV")) == ["cafe 1 a2"])
      #expect(try counts(ReportFilter(unit: "shop.service")).isEmpty)
    }
  }

  @Test("a group whose first crash is in the newest build is new, unless there is only one build")
  func new() throws {
    let old = [report("a1", group: "cafe", minute: 1), report("a2", group: "cafe", minute: 4, build: "bb")]
    try withStore([old[0]]) { store in
      let states = try store.groups(limit: 9).map(\.state)
      #expect(states == ["open"])
    }
    try withStore(old + [report("b1", group: "beef", minute: 5, build: "bb")]) { store in
      let states = try store.groups(limit: 9).map(\.state)
      #expect(states == ["new", "open"])
    }
  }

  @Test("groups are listed in the requested order, also with a filter")
  func order() throws {
    let reports = [
      report("a1", group: "cafe", minute: 1), report("a2", group: "cafe", minute: 2),
      report("b1", group: "beef", minute: 4),
      report("c1", group: "dead", minute: 3), report("c2", group: "dead", minute: 5),
      report("c3", group: "dead", minute: 5),
    ]
    try withStore(reports) { store in
      for filter in [ReportFilter(), ReportFilter(name: "shop")] {
        let keys = { (order: GroupQuery.Order) in try store.groups(filter, order: order, limit: 9).map(\.key) }
        #expect(try keys(.last) == ["dead", "beef", "cafe"])
        #expect(try keys(.first) == ["beef", "dead", "cafe"])
        #expect(try keys(.count) == ["dead", "cafe", "beef"])
        #expect(try store.groups(filter, order: .count, offset: 1, limit: 1).map(\.key) == ["cafe"])
      }
      // The count of a group includes removed reports.
      _ = try store.remove(before: "2026-11-21T08:03:00.000000Z")
      #expect(try store.groups(order: .count, limit: 9).map(\.count) == [3, 2, 1])
      #expect(try store.groups(order: .first, limit: 9).map(\.key) == ["beef", "dead", "cafe"])
    }
  }

  @Test("groups filtered by state are listed page by page, whichever data the state depends on")
  func states() throws {
    let reports = [
      report("a1", group: "cafe", minute: 1), report("b1", group: "beef", minute: 2),
      report("c1", group: "dead", minute: 3),
      report("d1", group: "feed", minute: 4, build: "bb"), report("e1", group: "face", minute: 5, build: "bb"),
    ]
    try withStore(reports) { store in
      let time = "2026-11-21T08:06:00.000000Z"
      _ = try store.setResolved(true, group: "cafe", at: time)
      _ = try store.setResolved(true, group: "beef", at: "2026-11-21T08:01:00.000000Z")
      for filter in [ReportFilter(), ReportFilter(name: "shop")] {
        let keys = { (states: Set<GroupQuery.State>) in
          try store.groups(filter, states: states, limit: 9).map(\.key)
        }
        #expect(try keys([.resolved]) == ["cafe"])
        #expect(try keys([.regressed]) == ["beef"])
        #expect(try keys([.new]) == ["face", "feed"])
        #expect(try keys([.open]) == ["dead"])
        #expect(try keys([.new, .open, .regressed]) == ["face", "feed", "dead", "beef"])
        #expect(try keys([]).isEmpty)
        #expect(try store.groups(filter, states: [.new], offset: 1, limit: 1).map(\.key) == ["feed"])
        #expect(try store.groups(filter, states: [.new, .open], offset: 2, limit: 9).map(\.key) == ["dead"])
      }
    }
  }

  @Test("a group's detail has its crashes by build and by day, including removed reports")
  func detail() throws {
    let reports = [
      report("a1", group: "cafe", minute: 1), report("a2", group: "cafe", minute: 2, build: "bb"),
      report("a3", group: "cafe", minute: 3, build: "bb"), report("b1", group: "beef", minute: 4, uid: 7),
    ]
    try withStore(reports) { store in
      _ = try store.remove(before: reports[1].time)
      let detail = try store.groupDetail("ca")
      #expect(detail.groups.map(\.count) == [3] && detail.groups.map(\.report) == ["a3"])
      #expect(detail.builds.map(\.build) == ["bb", "aa"] && detail.builds.map(\.count) == [2, 1])
      #expect(detail.builds[0].first == reports[1].time && detail.builds[0].last == reports[2].time)
      #expect(detail.days == [GroupDetail.Day(date: "2026-11-21", count: 3)])
      for prefix in ["", "dead", "zz"] {
        #expect(throws: StoreError.noSuchGroup(key: prefix)) { try store.groupDetail(prefix) }
      }
      #expect(throws: StoreError.noSuchGroup(key: "beef")) { try store.groupDetail("beef", visibility: .user(1_000)) }
    }
  }

  @Test("crashes are counted by hour, of all groups or of some, including removed reports")
  func hours() throws {
    let reports = [
      report("a1", group: "cafe", minute: 1), report("a2", group: "cafe", minute: 2),
      report("b1", group: "beef", minute: 3, uid: 7),
    ]
    try withStore(reports) { store in
      _ = try store.remove(before: reports[1].time)
      let count = { (key: String, count: Int) in HourCount(hour: "2026-11-21T08", key: key, count: count) }
      #expect(try store.hours(of: nil, ReportFilter()) == [count("", 3)])
      #expect(try store.hours(of: nil, ReportFilter(), visibility: .user(7)) == [count("", 1)])
      #expect(try store.hours(of: ["cafe", "beef"], ReportFilter()) == [count("cafe", 2), count("beef", 1)])
      #expect(try store.hours(of: ["cafe"], ReportFilter(group: "be")).isEmpty)
      for keys in [[], [""], ["dead"], ["zz"]] { #expect(try store.hours(of: keys, ReportFilter()).isEmpty) }
      #expect(try store.hours(of: nil, ReportFilter(since: "2026-11-21T09:00:00.000000Z")).isEmpty)
    }
  }

  @Test("a resolved group becomes regressed when it crashes again")
  func resolved() throws {
    try withStore([report("a1", group: "cafe", minute: 1), report("b1", group: "beef", minute: 1)]) { store in
      let time = "2026-11-21T08:02:00.000000Z"
      #expect(try store.setResolved(true, group: "ca", at: time) == "cafe")
      #expect(try store.groups(limit: 9).map(\.state) == ["open", "resolved"])
      _ = try store.put(report("a2", group: "cafe", minute: 3), raw: [])
      #expect(try store.groups(limit: 9).map(\.state) == ["regressed", "open"])
      #expect(try store.setResolved(false, group: "cafe", at: time) == "cafe")
      #expect(try store.groups(limit: 9).map(\.state) == ["open", "open"])
    }
  }

  @Test(
    "an empty, invalid, unknown or ambiguous prefix of a group key finds no group",
    arguments: ["", "dead", "c", "%", "*"])
  func noSuchGroup(prefix: String) throws {
    try withStore([report("a1", group: "cafe", minute: 1), report("b1", group: "c0de", minute: 1)]) { store in
      #expect(throws: StoreError.noSuchGroup(key: prefix)) {
        try store.setResolved(true, group: prefix, at: "2026-11-21T08:02:00.000000Z")
      }
    }
  }

  @Test("a user sees and resolves only the groups of its own reports")
  func visibility() throws {
    try withStore([
      report("a1", group: "cafe", minute: 1), report("a2", group: "cafe", minute: 2, uid: 1001),
      report("b1", group: "beef", minute: 3, uid: 1001),
    ]) { store in
      let mine = Visibility.user(1000)
      #expect(try store.groups(visibility: mine, limit: 9).map(\.count) == [1])
      #expect(throws: StoreError.noSuchGroup(key: "beef")) {
        try store.setResolved(true, group: "beef", at: "2026-11-21T08:09:00.000000Z", visibility: mine)
      }
      _ = try store.setResolved(true, group: "cafe", at: "2026-11-21T08:09:00.000000Z", visibility: mine)
      #expect(try store.groups(visibility: mine, limit: 9).map(\.state) == ["resolved"])
      // If one user resolves a group, the groups of other users with the same key stay open, also in root's list.
      let all = try store.groups(limit: 9)
      #expect(all.map(\.key) == ["beef", "cafe", "cafe"] && all.map(\.uid) == [1001, 1001, 1000])
      #expect(all.map(\.state) == ["open", "open", "resolved"])
      #expect(try store.groups(visibility: .user(1001), limit: 9).map(\.state) == ["open", "open"])
    }
  }
}
