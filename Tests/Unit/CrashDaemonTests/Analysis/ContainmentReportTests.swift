import CShimRing
import CrashReport
@testable import CrashRing
import Glibc
import TestKit
import Testing

@testable import CrashDaemon

@Suite("Containment in reports")
struct ContainmentReportTests {
  private static func request(_ number: UInt64, started_ns: UInt64) -> RingContents.Request {
    RingContents.Request(number: number, startTime_ns: started_ns, operation: "GET /\(number)")
  }

  /// The contents of a ring with two traps: the shield contained the trap of request 1, and the trap of request 2 began
  /// a drain.
  private static var contents: RingContents {
    var record = CrashRecord.sample(signal: SIGILL)
    record.request = request(2, started_ns: 2_000)
    (record.verdict, record.verdictReason) = (.drain, "actor")
    var contents = RingContents.sample([record])
    contents.requests.running = [request(3, started_ns: 3_000)]
    contents.requests.trapped = [request(1, started_ns: 1_000), request(2, started_ns: 2_000)]
    (contents.requests.counts.begun, contents.requests.counts.failed) = (3, 2)
    contents.containment = RingContents.Containment(
      mode: .contain, budget: 20, contained: 1, drain: RingContents.Drain(begin_ns: 5_000))
    return contents
  }

  @Test("the report of a trap that drains the process has the verdict, the reason and the unfinished drain")
  func report() throws {
    let containment = try #require(Self.contents.report()?.containment)
    #expect(
      containment
        == CrashReport.Containment(
          mode: .contain, verdict: .drain, reason: "actor", budget: 20, contained: 1,
          drain: .init(finished: 0, lost: 0)))
  }

  @Test("in the mode drain, a report gives no reason for the drain; in the mode contain, a used-up budget is a reason")
  func budget() throws {
    for (mode, reason) in [(CrashReport.Containment.Mode.drain, nil), (.contain, "budget")] as [(_, String?)] {
      var contents = Self.contents
      contents.records[0].verdictReason = "budget"
      contents.containment?.mode = mode
      let containment = try #require(contents.report()?.containment)
      #expect(containment.verdict == .drain && containment.reason?.rawValue == reason)
    }
  }

  @Test("the requests in flight include the request of the crash, but no request whose trap was contained")
  func inFlight() throws {
    let report = try #require(Self.contents.report())
    #expect(report.inFlight?.requests.map(\.number) == [2, 3] && report.inFlight?.total == 2)
    #expect(report.inFlight?.requests.map(\.crashed) == [true, nil])
  }

  @Test("a report has the request counts of the drain's end, and the requests in flight at the crash")
  func completed() throws {
    let stored = try #require(Self.contents.report())
    var later = Self.contents
    (later.requests.running, later.requests.counts.finished) = ([], 1)
    later.containment?.drain = RingContents.Drain(end: .done, finished: 1, begin_ns: 5_000, end_ns: 9_000)
    let facts = ProcessFacts(later, peer: Peer(pid: 7, uid: 1000), unit: nil)
    var builder = ReportBuilder(later, process: facts, symbols: SampleSymbols())
    builder.context = ProcessContext(stored).added(to: builder.context)
    let report = try #require(builder.report(id: "ab"))
    #expect(report.inFlight == stored.inFlight)
    #expect(report.process.requests == CrashReport.RequestCounts(begun: 3, finished: 1, failed: 2, lost: 0))
    let drain = try #require(report.containment?.drain)
    #expect(drain == .init(endedBy: .done, finished: 1, lost: 0, durationNanoseconds: 4_000))
  }

  @Test("if containment is off, the report has no field about it, even if the record has data")
  func off() throws {
    var contents = Self.contents
    contents.containment = nil
    #expect(contents.report()?.containment == nil)
  }

  @Test("the report of an unreported exit has the number of contained traps, but no verdict")
  func silent() throws {
    var ring = TestRing()
    ring.set(\.containment_mode, 2)
    ring.set(\.containment_count, 4)
    let source = try RingSource(memory: ring.memory())
    let contents = source.mapping.contents()
    let facts = ProcessFacts(contents, peer: Peer(pid: 4711, uid: 1000), unit: nil)
    let process = AttachedProcess(number: 4, facts: facts, ring: source)
    let death = try #require(
      SilentDeath(EndedProcess(process: process, end: .status(SIGKILL)), losses: [:], hasCrashed: false))
    let builder = ReportBuilder(contents, process: facts, symbols: SampleSymbols())
    let report = try #require(builder.report(id: "ab", of: death, at: Moment(nanoseconds: 1)))
    #expect(report.containment == CrashReport.Containment(mode: .contain, contained: 4))
  }
}
