import CrashClient
import CrashMaker
import CrashProtocol
import CrashReport
import Glibc
import TestKit
import Testing

/// Tests of use-after-frees on guard pages, from the page fault to crashd's report.
///
/// A guard slot is a page with one object; the last release of the object makes the page inaccessible.
@Suite("Guard slots, end to end", .sharedDaemon)
struct GuardSlotTests {
  /// The argument of dangling-maker for a direct read of a field of a freed object.
  ///
  /// Only guard pages detect this read, because it calls no function.
  private static let kind = "field-read"
  private static let victim = "dangling_maker.Session"

  private static func run(_ mode: String) async throws -> Crasher.Outcome {
    try await Crasher.run(
      kind, [mode], environment: SharedDaemon.current.place.environment,
      program: Binaries.besideTests("dangling-maker"))
  }

  /// Returns the source location of the read.
  private static func mark() throws -> SourceMark { try SourceMark.find(kind, in: ["dangling-maker"]) }

  @Test(
    "a use-after-free in a guard slot is diagnosed with certainty, with the class and the stacks of use and release")
  func crash() async throws {
    let daemon = try SharedDaemon.current
    let run = try await Self.run("attached-crash")
    #expect(run.status.signal == SIGSEGV, "\(run.status) \(run.error)")
    let reports = try await daemon.reports(of: run.pid)
    let report = try #require(reports.first)
    #expect(reports.count == 1)
    let diagnosis = report.diagnosis
    #expect(diagnosis.cause == "dangling" && diagnosis.rule == "guard-slot-freed" && diagnosis.confidence == 1)
    #expect(diagnosis.className == Self.victim)
    // The sentence begins with the class name, which begins with a lowercase letter.
    #expect(diagnosis.sentence.hasPrefix("dangling_maker.Session was read "), "\(diagnosis.sentence)")
    #expect(diagnosis.sentence.contains(" after it was freed by thread "), "\(diagnosis.sentence)")

    let mark = try Self.mark()
    let thread = try #require(report.crashedThread)
    let use = try #require(thread.topOwnFrame, "\(thread.listing)")
    #expect(use.file?.hasSuffix(mark.file) == true && use.line == mark.line, "\(thread.listing)")
    let object = try #require(report.guardedObject)
    #expect(object.className == Self.victim && object.bytes == 24 && object.age_ns != nil)
    // In this program, the crashing thread also allocated and released the object.
    #expect(object.releaseThread == thread.tid && object.allocationThread == thread.tid)
    #expect(object.release.contains { $0.function.hasPrefix("drop()") }, "\(object.release.map(\.function))")
    #expect(object.allocation.contains { $0.isOwn && $0.file?.hasSuffix("Kind.swift") == true })
    let text = try await DanglingTests.crashctl(["show", report.id, "--socket", daemon.place.varlinkSocket])
    #expect(text.contains("freed by thread") && text.contains("drop()") && text.contains("confidence 100 %"), "\(text)")
  }

  @Test(
    "a survived use-after-free in a guard slot has an incident with three stacks, and is counted as a hit of its class")
  func survived() async throws {
    let daemon = try SharedDaemon.current
    let run = try await Self.run("attached-slot")
    #expect(run.status.code == 0, "\(run.status) \(run.error)")
    #expect(try await daemon.reports(of: run.pid).isEmpty)
    let client = daemon.client
    let (incidents, policies, classes) = try await blocking {
      (
        try client.incidents(source: "pages"), try client.danglingPolicies(name: "dangling-maker"),
        try client.danglingClasses(name: "dangling-maker")
      )
    }
    let incident = try #require(incidents.first { $0.process.pid == Int(run.pid) })
    #expect(incident.kind == "read" && incident.mode == "absorb" && incident.confidence == "certain")
    #expect(incident.subject == Self.victim && incident.count == 1)
    let mark = try Self.mark()
    let use = try #require(incident.use.first { $0.isOwn })
    #expect(use.file?.hasSuffix(mark.file) == true && use.line == mark.line)
    let object = try #require(incident.object)
    #expect(object.release.contains { $0.function.hasPrefix("drop()") })
    #expect(object.allocation?.contains { $0.isOwn && $0.file?.hasSuffix("Kind.swift") == true } == true)

    #expect(policies.count == 1 && policies.flatMap(\.days).map(\.hits).reduce(0, +) >= 1)
    let found = try #require(classes.first { $0.figures.className == Self.victim })
    // The estimates use only the delays of accesses that the quarantine detected, but guard pages detected this access.
    #expect(found.figures.hits >= 1 && found.figures.estimatedAccesses == 0 && found.figures.detection == nil)
  }
}
