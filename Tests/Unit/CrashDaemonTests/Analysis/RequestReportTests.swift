import CrashReport
@testable import CrashRing
import Glibc
import TestKit
import Testing

@testable import CrashDaemon

@Suite("Requests in reports")
struct RequestReportTests {
  private static func request(_ number: UInt64, started_ns: UInt64, _ operation: String) -> RingContents.Request {
    RingContents.Request(number: number, startTime_ns: started_ns, operation: operation)
  }

  /// The contents of a ring with two crashes in requests, and three requests in flight.
  private static var contents: RingContents {
    var (first, second) = (CrashRecord.sample(signal: SIGILL), CrashRecord.sample(signal: SIGSEGV))
    (first.time_ns, second.time_ns, second.sequence) = (5_000_000_000, 5_000_000_001, 1)
    first.request = request(2, started_ns: 4_966_000_000, "GET /cart")
    first.request?.id = "7F3A"
    first.request?.traceID = String(repeating: "ab", count: 16)
    first.request?.tags = ["tier": "gold"]
    second.request = request(9, started_ns: 6_000_000_000, "")
    var contents = RingContents.sample([first, second])
    contents.requests.running = [
      request(1, started_ns: 1_000_000_000, "GET /slow"), request(2, started_ns: 4_966_000_000, "GET /cart"),
      request(9, started_ns: 6_000_000_000, ""),
    ]
    contents.requests.counts.begun = 12
    contents.requests.counts.finished = 8
    contents.requests.counts.failed = 1
    contents.requests.counts.overflow = 4
    contents.breadcrumbs = [RingContents.Breadcrumb(time_ns: 1, text: "x", request: 2)]
    return contents
  }

  @Test("each crashed thread has its request; requests in flight have their ages, and a mark for the crashed ones")
  func report() throws {
    let report = try #require(Self.contents.report())
    let request = try #require(report.request)
    #expect(request.operation == "GET /cart" && request.id == "7F3A" && request.age_ns == 34_000_000)
    #expect(request.startTime == "1970-01-01T00:00:04.966000Z" && request.tags == ["tier": "gold"])
    #expect(request.spanID == nil && request.crashed == nil)
    // If a request seems to begin after the crash, its age is not negative.
    #expect(report.threads[1].request?.age_ns == 0 && report.threads[1].request?.number == 9)
    let inFlight = try #require(report.inFlight)
    #expect(inFlight.total == 3 && inFlight.overflow == 4)
    #expect(inFlight.requests.map(\.number) == [1, 2, 9] && inFlight.requests.map(\.crashed) == [nil, true, true])
    #expect(inFlight.requests[0].age_ns == 4_000_000_000)
    #expect(report.process.requests == CrashReport.RequestCounts(begun: 12, finished: 8, failed: 1, lost: 3))
    #expect(report.breadcrumbs[0].request == 2)
  }

  @Test("the report of a process without requests has neither a list nor counts of requests")
  func none() throws {
    let report = try #require(RingContents.sample([.sample()]).report())
    #expect(report.request == nil && report.inFlight == nil && report.process.requests == nil)
  }

  @Test("a re-analysis keeps the requests in flight of the first analysis, and marks the requests of later crashes")
  func kept() throws {
    var earlier = Self.contents
    earlier.records.removeLast()
    let stored = try #require(earlier.report())
    #expect(stored.inFlight?.requests.map(\.crashed) == [nil, true, nil])
    var later = Self.contents
    later.requests.running = []
    later.requests.counts.finished = 11
    let facts = ProcessFacts(later, peer: Peer(pid: 7, uid: 1000), unit: nil)
    var builder = ReportBuilder(later, process: facts, symbols: SampleSymbols())
    builder.context = ProcessContext(stored).added(to: builder.context)
    let report = try #require(builder.report(id: "ab"))
    #expect(report.process.requests == stored.process.requests && report.inFlight?.total == 3)
    #expect(report.inFlight?.requests.map(\.crashed) == [nil, true, true])
  }

  @Test("the report of an unreported exit lists the requests that were running")
  func silent() throws {
    var ring = TestRing()
    ring.addRequest(0, number: 1, operation: "GET /", started_ns: 1_700_000_000_000_000_000)
    let source = try RingSource(memory: ring.memory())
    let contents = source.mapping.contents()
    let facts = ProcessFacts(contents, peer: Peer(pid: 4711, uid: 1000), unit: nil)
    let process = AttachedProcess(number: 4, facts: facts, ring: source)
    let death = try #require(
      SilentDeath(EndedProcess(process: process, end: .status(SIGKILL)), losses: [:], hasCrashed: false))
    let builder = ReportBuilder(contents, process: facts, symbols: SampleSymbols())
    let report = try #require(
      builder.report(id: "ab", of: death, at: Moment(nanoseconds: 1_700_000_002_000_000_000)))
    #expect(report.inFlight?.requests.map(\.age_ns) == [2_000_000_000] && report.process.requests?.lost == 1)
    #expect(report.request == nil)
  }

  @Test("the report states if the shield could not determine the requests of tasks")
  func refused() throws {
    var contents = Self.contents
    contents.requests.counts.isLookupRefused = true
    #expect(contents.report()?.process.requests?.isLookupRefused == true)
  }
}
