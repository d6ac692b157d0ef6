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

  @Test("the counts of a ring are limited, and only an ended process has lost requests")
  func ring() {
    var ring = RingContents.RequestCounts()
    (ring.begun, ring.finished, ring.failed) = (.max, 3, 2)
    let running = RequestTotals.Counts(ring, nil, hasEnded: false)
    #expect(running.begun == 1 << 40 && running.finished == 3 && running.failed == 2 && running.lost == 0)
    ring.begun = 9
    #expect(RequestTotals.Counts(ring, nil, hasEnded: true).lost == 4)
  }

  @Test("contained traps are counted at once, and a drain when its process has ended, by what ended it")
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

  @Test("the requests of ended and attached processes of one build are added")
  func sums() throws {
    var totals = RequestTotals()
    totals.add(counts(5, finished: 4, lost: 1), of: try key("aa"))
    totals.add(counts(2, finished: 2), of: try key("aa"))
    totals.add(counts(0), of: try key("cc"))
    let sums = totals.sums(with: [(try key("aa"), counts(3)), (try key("bb"), counts(1)), (try key("dd"), counts(0))])
    #expect(sums.map(\.key.build) == ["aa", "bb"])
    #expect(sums[0].counts == counts(10, finished: 6, lost: 1) && sums[1].counts == counts(1))
  }

  @Test("a user's oldest builds are merged into other, whose sum never decreases, and other users' builds stay")
  func limit() throws {
    var totals = RequestTotals()
    totals.add(counts(7), of: try key("aa", uid: 1))
    var others: [Int] = []
    for build in 0..<300 {
      totals.add(counts(1), of: try key("\(build)"))
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
