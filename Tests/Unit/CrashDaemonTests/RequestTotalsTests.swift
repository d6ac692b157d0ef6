import CrashReport
@testable import CrashRing
import LinuxSystem
import TestKit
import Testing

@testable import CrashDaemon

@Suite("Numbers of requests by build")
struct RequestTotalsTests {
  private func key(_ build: String, uid: UInt32 = 1_000) throws -> RequestTotals.Key {
    let contents = RingContents.sample([])
    var facts = ProcessFacts(contents, peer: Peer(pid: 7, uid: uid), unit: nil)
    facts.buildID = build
    return RequestTotals.Key(facts)
  }

  private func counts(_ begun: Int, finished: Int = 0, lost: Int = 0) -> RequestTotals.Counts {
    var counts = RequestTotals.Counts()
    (counts.begun, counts.finished, counts.lost) = (begun, finished, lost)
    return counts
  }

  private let none = RingContents.RequestCounts()

  /// Attaches and ends a process whose uid is its own account.
  private func run(_ totals: inout RequestTotals, _ counts: RequestTotals.Counts, _ key: RequestTotals.Key) throws {
    let attached = totals.attach(key, of: key.uid, before: none)
    let member = try #require(attached)
    #expect(member.key == key)
    totals.end(member, counts)
  }

  @Test("request counts in a ring are limited before they are used, and only an ended process has lost requests")
  func ring() {
    var ring = RingContents.RequestCounts()
    (ring.begun, ring.finished, ring.failed) = (.max, 3, 2)
    let running = RequestTotals.Counts(ring, nil, hasEnded: false)
    #expect(running.begun == 1 << 40 && running.finished == 3 && running.failed == 2 && running.lost == 0)
    ring.begun = 9
    #expect(RequestTotals.Counts(ring, nil, hasEnded: true).lost == 4)
  }

  @Test("contained traps are counted at once; a drain is counted at the end of its process, by how the drain ended")
  func containment() {
    let ring = RingContents.RequestCounts()
    var containment = RingContents.Containment(mode: .contain, contained: .max, drain: .init(begin_ns: 1))
    let running = RequestTotals.Counts(ring, containment, hasEnded: false)
    #expect(running.contained == Int(UInt32.max) && running.drains.isEmpty)
    let ends: [(CrashReport.Containment.End?, String)] = [
      (nil, "interrupted"), (.done, "done"), (.secondCrash, "secondCrash"), ("77", "other"),
    ]
    var sum = running
    for (end, word) in ends {
      containment.drain?.end = end
      let ended = RequestTotals.Counts(ring, containment, hasEnded: true)
      #expect(ended.drains == [word: 1])
      sum = sum + ended + ended
    }
    #expect(sum.contained == 9 * Int(UInt32.max) && sum.drains.values.allSatisfy { $0 == 2 } && sum.drains.count == 4)
  }

  @Test("the requests of a process before its attach are not counted")
  func baseline() throws {
    var (before, now) = (RingContents.RequestCounts(), RingContents.RequestCounts())
    (before.begun, before.finished, before.failed) = (100, 80, 10)
    (now.begun, now.finished, now.failed) = (103, 91, 10)
    var totals = RequestTotals()
    let first = totals.attach(try key("a"), of: 1_000, before: before, containedBefore: 4)
    let member = try #require(first)
    var containment = RingContents.Containment(mode: .contain, contained: 6)
    let counts = RequestTotals.Counts(now, containment, since: member, hasEnded: true)
    var expected = self.counts(3, finished: 11, lost: 2)
    expected.contained = 2
    #expect(counts == expected)
    // A process can write smaller numbers into its ring than before.
    let second = totals.attach(try key("a"), of: 1_000, before: now, containedBefore: 6)
    let later = try #require(second)
    containment.contained = 5
    #expect(RequestTotals.Counts(before, containment, since: later, hasEnded: false) == self.counts(0))
  }

  @Test("the request counts of a build include its ended and its attached processes")
  func sums() throws {
    var totals = RequestTotals()
    try run(&totals, counts(5, finished: 4, lost: 1), try key("aa"))
    try run(&totals, counts(2, finished: 2), try key("aa"))
    try run(&totals, counts(0), try key("cc"))
    let sums = totals.sums(with: [(try key("aa"), counts(3)), (try key("bb"), counts(1)), (try key("dd"), counts(0))])
    #expect(sums.map(\.key.build) == ["aa", "bb"])
    #expect(sums[0].counts == counts(10, finished: 6, lost: 1) && sums[1].counts == counts(1))
  }

  @Test("counts of a user's oldest builds move to the label other, whose sum never decreases; other users keep theirs")
  func limit() throws {
    var totals = RequestTotals()
    try run(&totals, counts(7), try key("aa", uid: 1))
    var others: [Int] = []
    for build in 0..<300 {
      try run(&totals, counts(1), try key("\(build)"))
      let sums = totals.sums(with: [])
      #expect(sums.count { $0.key.uid == 1_000 } <= RequestTotals.buildsPerUser + 1)
      #expect(sums.filter { $0.key.uid == 1_000 }.reduce(0) { $0 + $1.counts.begun } == build + 1)
      others.append(sums.first { $0.key.build == "other" }?.counts.begun ?? 0)
    }
    #expect(others == others.sorted() && others.last.map { $0 > 200 } == true)
    let sums = totals.sums(with: [])
    #expect(sums.contains { $0.key.build == "299" } && !sums.contains { $0.key.build == "0" })
    #expect(sums.first { $0.key.uid == 1 }?.counts.begun == 7)
  }

  @Test("a build with attached processes keeps its label, and processes of further builds are counted under other")
  func attached() throws {
    var totals = RequestTotals()
    let members = try (0..<RequestTotals.buildsPerUser + 3).compactMap { build in
      totals.attach(try key("\(build)"), of: 1_000, before: none)
    }
    let known = members.prefix(RequestTotals.buildsPerUser).map(\.key.build)
    #expect(known == (0..<RequestTotals.buildsPerUser).map { "\($0)" })
    #expect(members.suffix(3).allSatisfy { $0.key.build == "other" && $0.key.program == "other" })
    let before = totals.sums(with: members.map { ($0.key, counts(1)) })
    let other = { (sums: [(key: RequestTotals.Key, counts: RequestTotals.Counts)]) in
      sums.first { $0.key.build == "other" }?.counts
    }
    #expect(before.count == RequestTotals.buildsPerUser + 1 && other(before) == counts(3))
    // When the process ends, its counts remain under the same label.
    for member in members { totals.end(member, counts(1)) }
    let after = totals.sums(with: [])
    #expect(after.map(\.key) == before.map(\.key) && after.map(\.counts) == before.map(\.counts))
    // A new build reuses the entry of a build without attached processes.
    let new = totals.attach(try key("new"), of: 1_000, before: none)
    #expect(new?.key.build == "new")
    #expect(other(totals.sums(with: [])) == counts(4))
  }

  @Test("all uids of an account share its limit of builds, and processes beyond the limit of users are not counted")
  func accounts() throws {
    var totals = RequestTotals()
    for uid in 0..<UInt32(RequestTotals.buildsPerUser) {
      let member = totals.attach(try key("aa", uid: 100_000 + uid), of: 1_000, before: none)
      #expect(member?.key.uid == 100_000 + uid)
    }
    let other = totals.attach(try key("aa", uid: 200_000), of: 1_000, before: none)
    #expect(other?.key.uid == 1_000 && other?.key.build == "other")
    for account in 1..<UInt32(RequestTotals.users) {
      let attached = totals.attach(try key("aa", uid: account), of: account, before: none)
      let member = try #require(attached)
      // A process without requests leaves no entry.
      if account > 1 { totals.end(member, counts(0)) }
    }
    for account in 2..<UInt32(RequestTotals.users) { try run(&totals, counts(1), try key("aa", uid: account)) }
    let further = totals.attach(try key("aa", uid: 5_000), of: 5_000, before: none)
    let known = totals.attach(try key("bb", uid: 7), of: 7, before: none)
    #expect(further == nil && known != nil)
  }

  @Test("the metrics have the requests by user, program, build and outcome")
  func metrics() throws {
    var metrics = OpenMetrics()
    var ended = counts(5, finished: 3, lost: 2)
    (ended.contained, ended.drains) = (7, ["stall": 1, "done": 4])
    CrashdInterface.add(requests: [(try key("aa"), ended)], to: &metrics)
    let labels = #"uid="1000",program="shop",build="aa""#
    #expect(
      metrics.text.split(separator: "\n").filter { !$0.hasPrefix("#") } == [
        "crashd_requests_begun_total{\(labels)} 5", "crashd_requests_ended_total{\(labels),outcome=\"failed\"} 0",
        "crashd_requests_ended_total{\(labels),outcome=\"finished\"} 3",
        "crashd_requests_ended_total{\(labels),outcome=\"lost\"} 2", "crashd_requests_contained_total{\(labels)} 7",
        "crashd_drains_total{\(labels),end=\"done\"} 4", "crashd_drains_total{\(labels),end=\"stall\"} 1",
      ])
  }
}
