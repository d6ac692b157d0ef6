import CrashMaker
import CrashReport
import Testing

/// gdb and our handler look at the same stack of the same process, and see the same frames.
@Suite(.sharedDaemon, .serialized)
struct DebuggerTests {
  /// How gdb unwound a run.
  struct Truth {
    var run: String
    var pid: Int32
    var pcs: [UInt64]
  }

  @Test("frames equal gdb's on every scenario", arguments: ["debug", "optimized"])
  func frames(build: String) async throws {
    var program = try Binaries.path("crash-maker")
    if build == "optimized" {
      guard let optimized = try Binaries.optimizedCrashMaker() else { return }
      program = optimized
    }
    let runs =
      Scenario.all.filter(\.isReported).map { "\($0.name),--wait-attached" }
      + ["dispatch", "task", "pthread"].map { "array-index,--wait-attached,--thread,\($0)" }
    let daemon = try SharedDaemon.current
    let truths = try await unwind(runs, of: program, under: daemon)
    #expect(truths.map(\.run) == runs)
    for truth in truths {
      let report = try #require(try await daemon.reports(of: truth.pid).first, "\(truth.run)")
      let thread = try #require(report.crashedThread, "\(truth.run)")
      compare(thread, truth)
    }
  }

  private func compare(_ thread: CrashReport.CrashedThread, _ truth: Truth) {
    var ours = thread.stackFrames.map(\.address.rawValue)
    var theirs = truth.pcs
    if thread.framesOmitted != nil {
      // A deep recursion: the innermost frames, of which both have more than these.
      ours = Array(ours.prefix(100))
      theirs = Array(theirs.prefix(100))
      #expect(ours.count == 100, "\(truth.run)")
    }
    let hexadecimal = { (pcs: [UInt64]) in pcs.map { "0x" + String($0, radix: 16) }.joined(separator: " ") }
    #expect(!theirs.isEmpty, "\(truth.run)")
    #expect(ours == theirs, "\(truth.run)\nours  \(hexadecimal(ours))\ngdb's \(hexadecimal(theirs))\n\(thread.listing)")
  }

  /// Runs a program under gdb, several times in one session, because gdb takes long to read its symbols.
  private func unwind(_ runs: [String], of program: String, under daemon: PrivateDaemon) async throws -> [Truth] {
    let directory = try TemporaryDirectory()
    let output = directory.path + "/frames"
    let errorPath = directory.path + "/stderr"
    var environment = daemon.place.environment
    environment["FRAMES_RUNS"] = runs.joined(separator: " ")
    environment["FRAMES_OUTPUT"] = output
    let gdb = try ChildProcess.start(
      "/usr/bin/gdb", ["-batch", "-nx", "-x", SourceMark.package + "/Tests/Support/gdb_frames.py", program],
      ChildProcess.Options(environment: environment, directory: directory.path, errorPath: errorPath))
    let status = try await gdb.wait(limit: .seconds(300))
    let error = try contents(of: errorPath)
    try #require(status.code == 0, "gdb: \(status): \(error)")
    return try contents(of: output).split(separator: "\n").map { line in
      let words = line.split(separator: " ")
      let pid = try #require(words.dropFirst(2).first.flatMap { Int32($0) }, "gdb wrote '\(line)'")
      let pcs = words.dropFirst(3).compactMap { UInt64($0.dropFirst(2), radix: 16) }
      return Truth(run: String(words[0]), pid: pid, pcs: pcs)
    }
  }
}
