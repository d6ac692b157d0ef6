import CrashShield
import CrashShieldGuards
import Foundation
import TestKit
import Testing

/// The exit status of a process whose result is the documented value.
private let documented: Int32 = 42

/// Compares the thirty guards in each mode, each in its own process, with the table of docs/guards.md.
///
/// `make guards` writes the table.
@Suite
struct GuardTableTests {
  @Test(
    "the results of the thirty guards in each mode equal the table in docs/guards.md",
    .timeLimit(.minutes(10)))
  func table() async throws {
    var lines = [
      "| | guard | fault | without the guard | `off` | `observe` | `absorb` | why the process goes on | other tests |",
      "|---|---|---|---|---|---|---|---|---|",
    ]
    for (index, scene) in GuardScene.all.enumerated() {
      let row = try await Row(
        without: scene.unguarded == nil ? nil : seen(index, nil), off: seen(index, .off),
        observe: seen(index, .observe), absorb: seen(index, .absorb))
      expectSound(row, of: scene)
      let cells =
        ["G\(scene.number)", scene.name, scene.fault, row.without?.words(scene) ?? ""]
        + [row.off, row.observe, row.absorb].map { $0.words(scene) } + [scene.reason ?? "", scene.tests]
      lines.append("|" + cells.map { $0.isEmpty ? " – |" : " \($0) |" }.joined())
    }
    print(lines.joined(separator: "\n"))
    try compare(lines)
  }

  @Test("the table has the thirty guards in order, and each kind of fault has a case or a row")
  func complete() {
    #expect(GuardScene.all.map(\.number) == Array(1...30))
    let shown = Set(GuardCase.all.map(\.kind)).union([.continuation, .transition, .isolation, .timer, .pipe])
    #expect(Set(ShieldKind.allCases).subtracting(shown).isEmpty)
    for scene in GuardScene.all { #expect((scene.reason == nil) == scene.plain.isEmpty, "G\(scene.number)") }
  }

  private struct Row {
    var without: Outcome?
    var off: Outcome
    var observe: Outcome
    var absorb: Outcome
  }

  /// How a process ended, and how many different faults it recorded.
  private struct Outcome {
    var mode: ShieldMode?
    var status: ExitStatus
    var records: Int

    func words(_ scene: GuardScene) -> String {
      let end =
        switch status {
        case .signal(let signal): GuardTableTests.name(of: signal)
        case .exitCode: mode == .absorb ? scene.absorbed : mode == nil ? "goes on" : scene.plain
        default: "\(status)"
        }
      return records == 0 ? end : end + "; recorded"
    }

    var isDocumentedValue: Bool { status == .exitCode(documented) }
  }

  /// Checks a row of the table.
  ///
  /// In the modes `off` and `observe`, the process must end as without the guard, or the row must state a reason. Only
  /// `off` records nothing. The mode `absorb` must produce the documented value.
  private func expectSound(_ row: Row, of scene: GuardScene) {
    let name: Comment = "G\(scene.number) \(row)"
    #expect(row.off.records == 0 && row.observe.records == 1 && row.absorb.records == 1, name)
    #expect(row.absorb.isDocumentedValue, name)
    if scene.reason == nil {
      #expect(row.without.map { isSignal($0.status) } == true, name)
      #expect(row.off.status == row.without?.status && row.observe.status == row.without?.status, name)
    } else {
      #expect(row.off.isDocumentedValue && row.observe.isDocumentedValue, name)
    }
  }

  private func isSignal(_ status: ExitStatus) -> Bool {
    if case .signal = status { true } else { false }
  }

  /// Runs the fault in its own process.
  ///
  /// Without a mode, the fault runs without the guard.
  private func seen(_ index: Int, _ mode: ShieldMode?) async throws -> Outcome {
    let number = mode.map { Int($0.rawValue) } ?? -1
    let result = await #expect(
      processExitsWith: .failure, observing: [\.exitStatus, \.standardOutputContent], "G\(index + 1) \(number)"
    ) { [index = index as Int, number = number as Int] in
      beginCrash()
      let scene = GuardScene.all[index]
      guard let mode = UInt8(exactly: number).flatMap(ShieldMode.init) else {
        await scene.unguarded?()
        exit(documented)
      }
      Shield.setMode(mode)
      // Prints only the first fault of a call site, because the table lists each fault once.
      Shield.onIncident { if $0.count == 1 { tell($0.mode == mode ? "[record]" : "[mode]") } }
      guard await scene.guarded() else { complain("another value") }
      exit(documented)
    }
    let output = String(decoding: try #require(result).standardOutputContent, as: UTF8.self)
    #expect(!output.contains("[mode]"))
    let records = output.components(separatedBy: "[record]").count - 1
    return Outcome(mode: mode, status: try #require(result).exitStatus, records: records)
  }

  /// Returns the name of a signal in the table.
  ///
  /// The table has the signals of x86-64, so the signal of a trap is SIGILL, even on AArch64.
  private static func name(of signal: Int32) -> String {
    [trapSignal: "SIGILL", SIGABRT: "SIGABRT", SIGSEGV: "SIGSEGV", SIGPIPE: "SIGPIPE"][signal] ?? "signal \(signal)"
  }

  /// Compares the lines with the table.
  ///
  /// The table is between two marks in the document.
  ///
  /// If GUARD_TABLE_WRITE is set, the test writes the table instead.
  private func compare(_ lines: [String]) throws {
    let document = URL(filePath: #filePath).appending(path: "../../../../docs/guards.md").standardizedFileURL
    let text = try String(contentsOf: document, encoding: .utf8)
    let (start, end) = ("<!-- thirty -->\n", "<!-- end of thirty -->")
    let first = try #require(text.range(of: start)?.upperBound)
    let last = try #require(text.range(of: end)?.lowerBound)
    let table = lines.map { $0 + "\n" }.joined()
    if ProcessInfo.processInfo.environment["GUARD_TABLE_WRITE"] != nil {
      try Data((String(text[..<first]) + table + String(text[last...])).utf8).write(to: document)
    } else {
      #expect(String(text[first..<last]) == table, "`make guards` rewrites the table")
    }
  }
}
