import CrashReport
import CrashStore
import CrashSymbols
import Glibc
import Testing

@testable import CrashDaemon

@Suite("Re-analysis")
struct ReanalysisTests {
  private static let method = "io.crashshield.Crashd.Reanalyse"

  /// A daemon with the report of a crash.
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

  @Test("a report that yesterday's rules made is made anew, keeps its id, and is an event")
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
      #expect(try daemon.store.events(after: cursor, limit: 9).map(\.report.id) == [id])
      #expect(try daemon.store.report(idPrefix: nil).report.diagnosis.sentence == sentence)
      let again = try await client.call(Self.method)
      #expect(again["changed"] == .bool(false))
      #expect(try daemon.store.count() == 1)
    }
  }

  @Test(
    "a record of another version, or none, leaves the report as it is",
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

  @Test("a report whose symbols were not ready says so, and comes again when they are", .timeLimit(.minutes(10)))
  func lateSymbols() async throws {
    let directory = try TestDirectory()
    let gate = "\(directory.path)/gate"
    #expect(unsafe mkfifo(gate, 0o600) == 0)
    let ready = Descriptor(
      owning: unsafe Glibc.open(try directory.write([], to: "ready"), O_WRONLY | O_CLOEXEC))
    try SymbolCacheWriter.write(
      SymbolCacheContents(
        base: 0, buildID: [0xab, 0xcd], ranges: [], locations: [], contexts: [], functions: [], strings: [0],
        hasDebugInformation: true), to: ready.number)
    // No unwind tables, nothing in haste, and the whole cache when it is time.
    let script = """
      #!/bin/sh
      test "$1 $#" = 'build-cache 3' || exit 65
      read line <'\(gate)'; cat '\(directory.path)/ready'

      """
    let program = try directory.write(Array(script.utf8), to: "analyse", mode: 0o700)
    var ring = TestRing()
    ring.addImage(0, path: try directory.write([1], to: "image"))
    ring.addCrash()
    let left = ring
    var limits = Limits.patient
    limits.symbolWait_ms = 1
    try await TestDaemon.run(
      limits: limits, analysePath: program, prepare: { try SpoolTests.leave(left, in: $0.spool) }
    ) { daemon in
      let client = try await daemon.client()
      try await client.untilReports(1)
      let why = { try daemon.store.report(idPrefix: left.id).report.images.first?.symbols }
      #expect(try why() == "its symbols were not ready in time")
      let events = try await daemon.client()
      try await events.send("io.crashshield.Crashd.Subscribe", more: true)
      // Open for both: neither this nor the child waits for the other.
      let writer = Descriptor(owning: unsafe Glibc.open(gate, O_RDWR | O_CLOEXEC))
      #expect(unsafe Glibc.write(writer.number, "\n", 1) == 1)
      while try why() != nil { _ = try await events.reply() }
      #expect(try daemon.store.count() == 1)
      withExtendedLifetime(writer) {}
    }
  }

  @Test("without its symbols a report does not lose its names")
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
