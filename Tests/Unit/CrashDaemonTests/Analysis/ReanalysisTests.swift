import CrashProtocol
import CrashReport
import CrashRing
import CrashStore
import CrashSymbols
import Glibc
import LinuxSystem
import TestKit
import Testing

@testable import CrashDaemon

@Suite("Re-analysis")
struct ReanalysisTests {
  private static let method = "io.crashshield.Crashd.Reanalyse"

  /// Runs a daemon that has stored the report of a crash.
  private func withReport(
    _ body: (TestDaemon, TestClient, String) async throws -> Void
  ) async throws {
    var ring = TestRing()
    ring.addImage(0)
    ring.addCrash()
    let left = ring
    try await TestDaemon.run(prepare: { try SpoolTests.leave(left, in: $0.spool) }) { daemon in
      let client = try await daemon.client()
      try await client.untilReports(1)
      try await body(daemon, client, left.id)
    }
  }

  @Test("a report that was analyzed with older rules is reanalyzed, keeps its id, and causes an event")
  func changed() async throws {
    try await withReport { daemon, client, id in
      var report = try daemon.store.report(idPrefix: id).report
      let sentence = report.diagnosis.sentence
      report.diagnosis.sentence = "What yesterday's rules said."
      _ = try daemon.store.put(report, raw: try daemon.store.raw(id: id) ?? [])
      let cursor = try daemon.store.newestCursor()
      let reply = try await client.call(Self.method, ["id": .string(String(id.prefix(6)))])
      #expect(reply["changed"] == .bool(true))
      #expect(reply.object("report").object("diagnosis").string("sentence") == sentence)
      #expect(try daemon.store.events(after: cursor, limit: 9).map(\.id) == [id])
      #expect(try daemon.store.report(idPrefix: nil).report.diagnosis.sentence == sentence)
      let again = try await client.call(Self.method)
      #expect(again["changed"] == .bool(false))
      #expect(try daemon.store.count() == 1)
    }
  }

  @Test(
    "a report whose raw record is missing or has another version is not changed by a re-analysis",
    arguments: [[], [UInt8](repeating: 7, count: 99)])
  func unreadable(raw: [UInt8]) async throws {
    try await TestDaemon.run { daemon in
      _ = try daemon.store.put(.sample(id: "aa"), raw: raw)
      let client = try await daemon.client()
      try await client.send(Self.method, ["id": .string("aa")])
      #expect(try await client.reply().string("error") == "io.crashshield.Crashd.NotReanalysable")
      try await client.send(Self.method, ["id": .string("bb")])
      #expect(try await client.reply().string("error") == "io.crashshield.Crashd.NoSuchReport")
    }
  }

  @Test("a report with missing symbols states this, and is updated when they are ready", .timeLimit(.minutes(10)))
  func lateSymbols() async throws {
    let directory = try TestDirectory()
    let analyser = try GatedAnalyser(in: directory)
    var ring = TestRing()
    ring.addImage(0, path: try directory.write([1], to: "image"))
    ring.addCrash()
    let left = ring
    var limits = Limits.patient
    limits.symbolWait_ms = 1
    try await TestDaemon.run(
      limits: limits, analysePath: analyser.program, prepare: { try SpoolTests.leave(left, in: $0.spool) }
    ) { daemon in
      let client = try await daemon.client()
      try await client.untilReports(1)
      let why = { try daemon.store.report(idPrefix: left.id).report.images.first?.symbols }
      #expect(try why() == "its symbols were not ready in time")
      let events = try await daemon.client()
      try await events.send("io.crashshield.Crashd.Subscribe", more: true)
      analyser.open()
      while try why() != nil { _ = try await events.reply() }
      #expect(try daemon.store.count() == 1)
    }
  }

  /// Runs a daemon with a report.
  ///
  /// The unwind cross-check (in the child process crash-analyse) has already found two frames in the report's stack.
  ///
  /// The last parameter of `body` sets the result of later cross-checks.
  private func withUnwoundReport(
    _ body: (TestDaemon, TestClient, String, (UnwindAnswer) throws -> Void) async throws -> Void
  ) async throws {
    let directory = try TestDirectory()
    let script = "#!/bin/sh\ntest $1 = unwind && cat '\(directory.path)/answer' && exit 0\nexit 65\n"
    let program = try directory.write(Array(script.utf8), to: "analyse", mode: 0o700)
    let answer = { (answer: UnwindAnswer) in _ = try directory.write(answer.encoded, to: "answer") }
    var ring = TestRing()
    ring.addImage(0)
    ring.addCrash(stack: [UInt8](repeating: 1, count: 64), unwindStop: 3)
    let left = ring
    try answer(Self.answer([0x10010, 0x10020]))
    var limits = Limits.patient
    limits.unwind_ms = 600_000
    try await TestDaemon.run(
      limits: limits, analysePath: program, prepare: { try SpoolTests.leave(left, in: $0.spool) }
    ) { daemon in
      let client = try await daemon.client()
      // The report cannot be read before crashd has stored it.
      try await client.untilReports(1)
      try await client.until { try daemon.store.report(idPrefix: left.id).report.unwinding != nil }
      try await body(daemon, client, left.id, answer)
    }
  }

  private static func answer(_ frames: [UInt64]) -> UnwindAnswer {
    let list = frames.enumerated().map { index, pc in
      UnwindAnswer.Frame(pc: pc, functionStart: nil, found: index == 0 ? .context : .cfi)
    }
    return UnwindAnswer(stacks: [.init(frames: list, stop: .end)])
  }

  @Test("frames from the unwind cross-check stay in the report when a later cross-check finds fewer")
  func tablesGone() async throws {
    try await withUnwoundReport { daemon, client, id, answer in
      let report = try daemon.store.report(idPrefix: id).report
      #expect(report.unwinding?.map(\.shown) == [.snapshot])
      #expect(report.threads.first?.frames.map(\.address) == [0x10010, 0x10020])
      try answer(Self.answer([0x10010]))
      try await client.send(Self.method, ["id": .string(id)])
      let reply = try await client.reply()
      #expect(reply.string("error") == "io.crashshield.Crashd.NotReanalysable")
      #expect(reply.object("parameters").string("reason")?.contains("unwind cross-check") == true)
      #expect(try daemon.store.report(idPrefix: id).report == report)
      try answer(Self.answer([0x10010, 0x10020]))
      #expect(try await client.call(Self.method, ["id": .string(id)])["changed"] == .bool(false))
    }
  }

  @Test("if a re-analysis only adds the note of the unwind cross-check to a report, it causes no event")
  func noteAdded() async throws {
    try await withUnwoundReport { daemon, client, id, answer in
      try answer(Self.answer([0x10010]))
      // Stores the report as an older crashd did: with the handler's frames, and without a note of the cross-check.
      var report = try daemon.store.report(idPrefix: id).report
      report.unwinding = nil
      report.threads[0].frames.removeLast()
      report.group = try #require(try Self.group(of: daemon, id))
      _ = try daemon.store.put(report, raw: try daemon.store.raw(id: id) ?? [])
      let cursor = try daemon.store.newestCursor()
      #expect(try await client.call(Self.method, ["id": .string(id)])["changed"] == .bool(false))
      #expect(try daemon.store.newestCursor() == cursor)
      #expect(try daemon.store.report(idPrefix: id).report.unwinding?.map(\.agreement) == [.equal])
    }
  }

  /// Returns the group of the report without the frames of the cross-check: with the handler's frames only.
  private static func group(of daemon: TestDaemon, _ id: String) throws -> CrashReport.Group? {
    let raw = try #require(RingExcerpt.unpack(try daemon.store.raw(id: id) ?? []))
    let file = try MemoryFile(size: raw.count)
    try file.write(raw, at: 0)
    let source = try RingSource(file: file.descriptor)
    let contents = source.mapping.contents()
    let facts = ProcessFacts(contents, peer: Peer(pid: 4711, uid: geteuid()), unit: nil)
    return ReportBuilder(contents, process: facts, symbols: SampleSymbols()).report(id: id)?.group
  }

  @Test("a re-analysis without symbols keeps the report's function names")
  func symbolsGone() async throws {
    try await withReport { daemon, client, id in
      var report = try daemon.store.report(idPrefix: id).report
      report.threads[0].frames[0].function = "Shop.buy(_:)"
      _ = try daemon.store.put(report, raw: try daemon.store.raw(id: id) ?? [])
      try await client.send(Self.method, ["id": .string(id)])
      let reply = try await client.reply()
      #expect(reply.string("error") == "io.crashshield.Crashd.NotReanalysable")
      #expect(reply.object("parameters").string("reason")?.contains("abcd") == true)
      #expect(try daemon.store.report(idPrefix: id).report == report)
    }
  }
}
