import CrashReport
import Glibc
import Testing

/// gdb, the oracle of what is on a stack.
enum Debugger {
  /// How gdb unwound a run.
  struct Truth {
    /// The arguments of the run, with commas between them.
    var run: String
    var pid: Int32
    var pcs: [UInt64]

    /// What differs from a report's thread; nil when nothing does.
    func difference(from thread: CrashReport.CrashedThread) -> String? {
      var ours = thread.stackFrames.map(\.address.rawValue)
      var theirs = pcs
      if thread.framesOmitted != nil {
        // A deep recursion: the innermost frames, of which both have more than these.
        ours = Array(ours.prefix(100))
        theirs = Array(theirs.prefix(100))
        if ours.count < 100 { return "only \(ours.count) frames before the gap" }
      }
      if !theirs.isEmpty && ours == theirs { return nil }
      let hexadecimal = { (pcs: [UInt64]) in pcs.map { "0x" + String($0, radix: 16) }.joined(separator: " ") }
      return "ours  \(hexadecimal(ours))\ngdb's \(hexadecimal(theirs))\n\(thread.listing)"
    }
  }

  /// Runs a program under gdb, several times in one session, because gdb takes long to read its symbols.
  ///
  /// gdb 13 now and then waits for ever for a process that is gone: it is asked once more then.
  static func unwind(_ runs: [String], of program: String, under daemon: PrivateDaemon) async throws -> [Truth] {
    do {
      return try await unwindOnce(runs, of: program, under: daemon)
    } catch let error as SystemError where error.errno == ETIMEDOUT {
      return try await unwindOnce(runs, of: program, under: daemon)
    }
  }

  private static func unwindOnce(
    _ runs: [String], of program: String, under daemon: PrivateDaemon
  ) async throws -> [Truth] {
    let directory = try TemporaryDirectory()
    let output = directory.path + "/frames"
    let errorPath = directory.path + "/stderr"
    var environment = daemon.place.environment
    environment["FRAMES_RUNS"] = runs.joined(separator: " ")
    environment["FRAMES_OUTPUT"] = output
    let gdb = try ChildProcess.start(
      "/usr/bin/gdb", ["-batch", "-nx", "-x", SourceMark.package + "/Tests/Support/gdb_frames.py", program],
      ChildProcess.Options(environment: environment, directory: directory.path, errorPath: errorPath))
    let status = try await gdb.wait(slices: 240)
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
