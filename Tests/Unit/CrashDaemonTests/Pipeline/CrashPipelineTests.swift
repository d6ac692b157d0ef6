import CrashProtocol
import CrashReport
import CrashRing
import CrashStore
import Glibc
import LinuxSystem
import Synchronization
import TestKit
import Testing

@testable import CrashDaemon

@Suite("From the end of a process to its reports")
struct CrashPipelineTests {
  /// A process with a ring.
  ///
  /// The test itself sends the events of the process to the pipeline.
  private struct Process {
    var ring: TestRing
    var memory: Descriptor
    var attached: AttachedProcess

    init(_ number: UInt64 = 4, pid: Int32 = 4711, hasCrashed: Bool, stack: [UInt8] = []) throws {
      var ring = TestRing()
      ring.addImage(0)
      if hasCrashed { ring.addCrash(stack: stack) }
      try self.init(ring, number, pid: pid)
    }

    init(
      _ ring: TestRing, _ number: UInt64 = 4, pid: Int32 = 4711, startTime: UInt64? = nil,
      context: ProcessContext = ProcessContext(), times: TimeBounds? = nil
    ) throws {
      self.ring = ring
      memory = try ring.memory()
      let source = try RingSource(memory: memory)
      var facts = ProcessFacts(source.mapping.contents(), peer: Peer(pid: pid, uid: geteuid()), unit: nil)
      (facts.startTime, facts.context, facts.times) = (startTime, context, times)
      attached = AttachedProcess(number: number, facts: facts, ring: source)
    }
  }

  /// The reports that a pipeline produces for a process, oldest first.
  private func reports(of process: Process, _ end: ProcessEnd) async throws -> [CrashReport] {
    try await run(process, end).reports
  }

  /// Runs a pipeline for a process.
  ///
  /// Returns the reports, and the numbers of requests by build.
  ///
  /// Reads the numbers of requests twice: before and after the end of the process. Calls `change` as soon as the
  /// process is attached.
  private func run(
    _ process: Process, _ end: ProcessEnd, change: () throws -> Void = {}
  ) async throws -> (reports: [CrashReport], requests: [[RequestTotals.Counts]]) {
    let daemon = try TestDaemon(TestDirectory())
    let (events, continuation) = AsyncStream.makeStream(of: PipelineEvent.self)
    let pipeline = CrashPipeline(
      analysis: daemon.analysis, spool: try SpoolDirectory(path: daemon.directories.spool), events: events)
    let running = Task { try await pipeline.run() }
    continuation.yield(.attached(process.attached, []))
    await withCheckedContinuation { continuation.yield(.settled($0)) }
    try change()
    var requests = [pipeline.requests(for: .all).map(\.counts)]
    process.attached.hasEnded.store(true, ordering: .releasing)
    continuation.yield(.announced(process.attached))
    continuation.yield(.ended(EndedProcess(process: process.attached, end: end)))
    await withCheckedContinuation { continuation.yield(.settled($0)) }
    // The pipeline has handled the end of the process (it is settled) when all its descriptors are closed, at the
    // latest.
    let progress = await pipeline.progress(pid: 4711, mayRead: { _ in true }, timeout_ms: 600_000)
    #expect(progress.isSettled && progress.isAttached)
    continuation.finish()
    running.cancel()
    _ = await running.result
    #expect(pipeline.attached().isEmpty)
    requests.append(pipeline.requests(for: .all).map(\.counts))
    #expect(pipeline.requests(for: .user(geteuid() + 1)).isEmpty)
    return (try progress.reports.map { try daemon.store.report(idPrefix: $0).report }, requests)
  }

  @Test("S9: threads that crash at once are each counted in their group; the one that ended the process is first")
  func pair() async throws {
    var process = try Process(hasCrashed: false)
    process.ring.addCrash(slot: 0, message: "Fatal error: sold out\n")
    process.ring.addCrash(slot: 1, message: "", signal: SIGSEGV, address: 0x50_0000)
    process = try Process(process.ring)
    let report = try #require(try await reports(of: process, .status(SIGSEGV)).first)
    #expect(report.signal.name == "SIGSEGV" && report.threads.map(\.tid) == [4713, 4712])
    #expect(report.groups.count == 2 && report.groups.first == report.group)
    let first = try #require(try await reports(of: process, .status(SIGILL)).first)
    #expect(first.signal.name == "SIGILL" && Set(first.groups.map(\.key)) == Set(report.groups.map(\.key)))
    // Each of the two groups counts the crash, and lists the report.
    let directory = try TestDirectory()
    let store = try ReportStore(path: directory.path + "/r.sqlite")
    _ = try store.put(report, raw: [])
    #expect(try store.groups(limit: 9).map(\.count) == [1, 1])
    for group in report.groups {
      #expect(try store.list(ReportFilter(group: group.key), limit: 9).map(\.id) == [report.id])
    }
    #expect(try store.count() == 1)
    _ = try store.remove(idPrefix: report.id)
    #expect(try store.groups(limit: 9).isEmpty)
    try store.close()
  }

  @Test("F20: a process's final signal is stored as soon as a permit is free, without waiting for symbols")
  func endWithoutSymbols() async throws {
    let directory = try TestDirectory()
    let gate = "\(directory.path)/gate"
    #expect(unsafe mkfifo(gate, 0o600) == 0)
    let writer = Descriptor(owning: unsafe open(gate, O_RDWR | O_CLOEXEC))
    let script = "#!/bin/sh\ntest $1 = build-cache && read line <'\(gate)'\nexit 65\n"
    let program = try directory.write(Array(script.utf8), to: "analyse", mode: 0o700)
    var ring = TestRing()
    ring.addImage(0, path: try directory.write([1], to: "image"))
    ring.addCrash(slot: 0)
    ring.addCrash(slot: 1, message: "", signal: SIGSEGV, address: 0x50_0000)
    let process = try Process(ring).attached
    let daemon = try TestDaemon(directory, analysePath: program)
    var analysis = daemon.analysis
    let (permits, uid) = (analysis.permits, process.facts.peer.uid)
    // The symbols of the image are not ready until the test opens the gate.
    analysis.limits.symbolWait_ms = 1
    let permit = await permits.enter(uid)
    let source = AttachedRing(process: process, seen: nil, isFinal: true)
    guard case .stored(let id, _) = await analysis.analyse(source, permit).outcome else {
      Issue.record("the crash is not stored")
      return
    }
    analysis.limits.symbolWait_ms = 600_000
    var held = [permit]
    for _ in 1..<analysis.limits.looksPerUser { held.append(await permits.enter(uid)) }
    let isOver = try MutexFlag.alarm { Self.pass(writer) }
    let noting = Task { [analysis] in
      await analysis.noteEnd(EndedProcess(process: process, end: .status(SIGSEGV)), report: id)
    }
    while permits.waitingCount == 0 && !isOver.isSet { await Task.yield() }
    #expect(permits.waitingCount == 1)
    for permit in held { permit.giveBack() }
    await noting.value
    #expect(!isOver.isSet)
    #expect(try daemon.store.report(idPrefix: id).report.signal.name == "SIGSEGV")
    if isOver.set() { Self.pass(writer) }
  }

  /// Opens the gate: writes eight lines, one for each job that waits for a line.
  private static func pass(_ gate: Descriptor) {
    // Invariant: the string has 8 bytes, which is the passed count.
    #expect(unsafe write(gate.number, "\n\n\n\n\n\n\n\n", 8) == 8)
  }

  @Test("F10: a crash with a time in the year 1970 or 2554 gets the time of reading", arguments: [0, UInt64.max])
  func impossibleTime(time_ns: UInt64) async throws {
    var process = try Process(hasCrashed: false)
    process.ring.addCrash(time_ns: time_ns)
    process = try Process(process.ring)
    let before = Moment.now().description
    let report = try #require(try await reports(of: process, .status(SIGILL)).first)
    #expect(report.time >= before && report.time <= Moment.now().description)
  }

  @Test("a process that recovers from a fault and is killed later has two reports, each with its own cause")
  func survivor() async throws {
    let process = try Process(hasCrashed: true)
    let reports = try await reports(of: process, .status(SIGKILL))
    #expect(reports.map(\.signal.name) == ["SIGILL", "SIGKILL"])
    #expect(reports.first?.id == process.ring.id)
    #expect(reports.map(\.kind) == [nil, .silent])
    #expect(reports.last?.diagnosis.cause == "killed")
    #expect(reports.last?.diagnosis.sentence == "Killed (SIGKILL from outside), after it had crashed.")
    #expect(Set(reports.map(\.id)).count == 2)
  }

  @Test(
    "a crashed process has one report, for each way in which the process can end",
    arguments: [ProcessEnd.status(SIGILL), .status(SIGABRT), .status(0), .status(SIGTERM), .unknown, .goesOn])
  func crashed(end: ProcessEnd) async throws {
    let reports = try await reports(of: try Process(hasCrashed: true), end)
    #expect(reports.map(\.signal.name) == ["SIGILL"])
  }

  @Test("a process that crashes while two of its connections attach has one report")
  func twoConnections() async throws {
    let ring = try Process(hasCrashed: true).ring
    let (first, second) = (try Process(ring, 4, startTime: 1), try Process(ring, 6, startTime: 1))
    let daemon = try TestDaemon(TestDirectory())
    let (events, continuation) = AsyncStream.makeStream(of: PipelineEvent.self)
    let pipeline = CrashPipeline(
      analysis: daemon.analysis, spool: try SpoolDirectory(path: daemon.directories.spool), events: events)
    let running = Task { try await pipeline.run() }
    for (process, end) in [(first, ProcessEnd.goesOn), (second, .status(SIGILL))] {
      continuation.yield(.attached(process.attached, []))
      process.attached.hasEnded.store(true, ordering: .releasing)
      continuation.yield(.announced(process.attached))
      continuation.yield(.ended(EndedProcess(process: process.attached, end: end)))
    }
    await withCheckedContinuation { continuation.yield(.settled($0)) }
    let progress = await pipeline.progress(pid: 4711, mayRead: { _ in true }, timeout_ms: 600_000)
    #expect(progress == .init(isAttached: true, isSettled: true, reports: [ring.id]))
    continuation.finish()
    running.cancel()
    _ = await running.result
  }

  @Test("if a crash is read again with less data about its process, the report is unchanged and there is no event")
  func readAgain() async throws {
    let ring = try Process(hasCrashed: true).ring
    var (known, later) = (ProcessContext(), ProcessContext())
    known.machine = CrashReport.Machine()
    known.machine?.host = "before"
    known.resources = CrashReport.Resources(time: "2026-11-21T08:00:00.000000Z")
    known.cgroup = "/a"
    later.machine = CrashReport.Machine()
    later.machine?.host = "after"
    let daemon = try TestDaemon(TestDirectory())
    var (cursors, stored): ([StoreCursor], [CrashReport]) = ([], [])
    for context in [known, later] {
      let attached = try Process(ring, context: context, times: TimeBounds()).attached
      let source = AttachedRing(process: attached, seen: nil, isFinal: true)
      _ = await daemon.analysis.permits.withPermit(for: geteuid()) {
        await daemon.analysis.analyse(source, $0).outcome
      }
      cursors.append(try daemon.store.newestCursor())
      var report = try daemon.store.report(idPrefix: ring.id).report
      #expect(report.machine?.host == "before" && report.resources == known.resources && report.process.cgroup == "/a")
      report.timing = nil
      stored.append(report)
    }
    #expect(stored.first == stored.last)
    #expect(cursors.first == cursors.last)
  }

  @Test("a report keeps the requests in flight of the first reading, when the other requests have ended")
  func requests() async throws {
    var ring = TestRing()
    ring.addImage(0)
    ring.addCrash()
    ring.addRequest(0, number: 1, operation: "GET /slow")
    ring.addRequest(1, number: 2, operation: "GET /cart")
    let process = try Process(ring)
    let daemon = try TestDaemon(TestDirectory())
    for isFinal in [false, true] {
      let source = AttachedRing(process: process.attached, seen: nil, isFinal: isFinal)
      _ = await daemon.analysis.permits.withPermit(for: geteuid()) {
        await daemon.analysis.analyse(source, $0).outcome
      }
      let report = try daemon.store.report(idPrefix: ring.id).report
      #expect(report.inFlight?.requests.map(\.operation) == ["GET /slow", "GET /cart"])
      #expect(report.process.requests == CrashReport.RequestCounts(begun: 2, finished: 0, failed: 0, lost: 2))
      ring.addRequest(1, number: 2, operation: "GET /cart", isRunning: false)
      try ring.write(to: process.memory)
    }
  }

  @Test("a report is stored while its process drains, and is completed when the drain has ended")
  func drain() async throws {
    var ring = TestRing()
    ring.addImage(0)
    ring.addCrash()
    ring.addRequest(0, number: 1, operation: "GET /slow")
    ring.setDrain(0)
    let process = try Process(ring)
    let daemon = try TestDaemon(TestDirectory())
    var seen: CrashAnalysis.Seen?
    var cursors: [StoreCursor] = []
    for isFinal in [false, true, true] {
      let source = AttachedRing(process: process.attached, seen: seen, isFinal: isFinal)
      let outcome = await daemon.analysis.permits.withPermit(for: geteuid()) {
        await daemon.analysis.analyse(source, $0).outcome
      }
      if case .stored(_, let contents) = outcome { seen = contents }
      cursors.append(try daemon.store.newestCursor())
      let report = try daemon.store.report(idPrefix: ring.id).report
      let drain = try #require(report.containment?.drain)
      #expect(drain.endedBy == (isFinal ? .done : nil) && drain.finished == (isFinal ? 1 : 0))
      #expect(drain.durationNanoseconds == (isFinal ? 230_000_000 : nil))
      #expect(report.inFlight?.requests.map(\.operation) == ["GET /slow"])
      ring.addRequest(0, number: 1, operation: "GET /slow", isRunning: false)
      ring.setDrain(1, finished: 1)
      try ring.write(to: process.memory)
    }
    #expect(cursors[0] != cursors[1] && cursors[1] == cursors[2])
  }

  @Test(
    "if a process ends during a drain, the reports of the trap and of the exit state the interruption",
    arguments: [ProcessEnd.status(SIGKILL), .status(0), .unknown, .goesOn])
  func interruptedDrain(end: ProcessEnd) async throws {
    var ring = TestRing()
    ring.addImage(0)
    ring.addCrash()
    ring.addRequest(0, number: 1, operation: "GET /slow")
    ring.setDrain(0)
    let reports = try await reports(of: try Process(ring), end)
    #expect(reports.map(\.signal.name) == (end == .status(SIGKILL) ? ["SIGILL", "SIGKILL"] : ["SIGILL"]))
    for report in reports {
      let drain = try #require(report.containment?.drain)
      #expect(drain.endedBy == (end == .goesOn ? nil : .interrupted))
    }
  }

  @Test("if a drain ends while crashd waits for symbols, the report has the numbers of requests at its end")
  func drainDuringSymbols() async throws {
    var ring = TestRing()
    ring.addImage(0)
    ring.addCrash()
    ring.addRequest(0, number: 1, operation: "GET /slow")
    ring.countRequests(begun: 1, finished: 0, failed: 0)
    ring.setDrain(0)
    let process = try Process(ring)
    let daemon = try TestDaemon(TestDirectory())
    let source = AttachedRing(process: process.attached, seen: nil, isFinal: false)
    guard case .news(var snapshot) = daemon.analysis.takeSnapshot(of: source) else {
      Issue.record("the ring has no crash")
      return
    }
    ring.addRequest(0, number: 1, operation: "GET /slow", isRunning: false)
    ring.countRequests(begun: 1, finished: 1, failed: 0)
    ring.setDrain(1, finished: 1)
    try ring.write(to: process.memory)
    snapshot.contents = daemon.analysis.read(process.attached, isFinal: true)
    _ = await daemon.analysis.commit(snapshot, OpenCaches(), of: source)
    let report = try daemon.store.report(idPrefix: ring.id).report
    #expect(report.inFlight?.requests.map(\.operation) == ["GET /slow"])
    #expect(report.process.requests == CrashReport.RequestCounts(begun: 1, finished: 1, failed: 0, lost: 0))
    #expect(report.containment?.drain?.endedBy == .done)
  }

  @Test(
    "a process's requests are counted from its attach on; at its end the running ones are counted as lost",
    arguments: [(ProcessEnd.status(SIGKILL), 2), (.status(0), 2), (.goesOn, 0)])
  func requestTotals(end: ProcessEnd, lost: Int) async throws {
    var ring = TestRing()
    ring.addImage(0)
    ring.addRequest(0, number: 7, operation: "GET /slow")
    ring.countRequests(begun: 7, finished: 4, failed: 2)
    let process = try Process(ring)
    let (reports, requests) = try await run(process, end) {
      ring.addRequest(1, number: 11, operation: "GET /cart")
      ring.countRequests(begun: 11, finished: 6, failed: 3)
      try ring.write(to: process.memory)
    }
    var before = RequestTotals.Counts()
    (before.begun, before.finished, before.failed) = (4, 2, 1)
    var after = before
    after.lost = lost
    #expect(requests == [[before], [after]])
    #expect(reports.allSatisfy { $0.inFlight?.total == 2 })
  }

  @Test("a client that waits for a process does not wait for its unwind cross-check", .timeLimit(.minutes(20)))
  func crossCheck() async throws {
    let directory = try TestDirectory()
    let gate = "\(directory.path)/gate"
    #expect(unsafe mkfifo(gate, 0o600) == 0)
    let writer = Descriptor(owning: unsafe open(gate, O_RDWR | O_CLOEXEC))
    let script = "#!/bin/sh\ntest $1 = unwind && read line <'\(gate)'\nexit 65\n"
    let program = try directory.write(Array(script.utf8), to: "analyse", mode: 0o700)
    var limits = Limits.patient
    limits.unwind_ms = 600_000
    let daemon = try TestDaemon(directory, limits: limits, analysePath: program)
    let (events, continuation) = AsyncStream.makeStream(of: PipelineEvent.self)
    let pipeline = CrashPipeline(
      analysis: daemon.analysis, spool: try SpoolDirectory(path: daemon.directories.spool), events: events)
    let running = Task { try await pipeline.run() }
    let process = try Process(hasCrashed: true, stack: [UInt8](repeating: 1, count: 64))
    continuation.yield(.attached(process.attached, []))
    process.attached.hasEnded.store(true, ordering: .releasing)
    continuation.yield(.announced(process.attached))
    continuation.yield(.ended(EndedProcess(process: process.attached, end: .status(SIGILL))))
    await withCheckedContinuation { continuation.yield(.settled($0)) }
    let progress = await pipeline.progress(pid: 4711, mayRead: { _ in true }, timeout_ms: 600_000)
    #expect(progress.isSettled && progress.reports == [process.ring.id])
    #expect(await daemon.analysis.unwinder.findings == [:])
    #expect(unsafe write(writer.number, "\n", 1) == 1)
    while await daemon.analysis.unwinder.findings != ["failed": 1] { await Task.yield() }
    continuation.finish()
    running.cancel()
    _ = await running.result
  }

  @Test("a process without a crash record has one report when it is killed, and none when it exits normally")
  func silent() async throws {
    let process = try Process(hasCrashed: false)
    let reports = try await reports(of: process, .status(SIGKILL))
    #expect(reports.map(\.id) == [process.ring.id])
    #expect(reports.map(\.diagnosis.cause) == ["killed"])
    #expect(try await self.reports(of: try Process(hasCrashed: false), .status(0)).isEmpty)
  }
}
