import CrashReport
import Glibc
import Synchronization
import TestKit
import Testing

/// Runs gdb.
///
/// The tests compare the stacks of reports with gdb's stacks.
enum Debugger {
  /// The stack that gdb unwound in one run.
  struct Truth {
    /// The comma-separated arguments of the program in this run.
    var run: String
    var pid: Int32
    var pcs: [UInt64]

    /// Reads a line that `gdb_frames.py` wrote.
    init(line: String) throws {
      let words = line.split { $0 == " " || $0 == "\n" }
      pid = try #require(words.dropFirst(2).first.flatMap { Int32($0) }, "gdb wrote '\(line)'")
      run = String(words[0])
      pcs = words.dropFirst(3).compactMap { UInt64($0.dropFirst(2), radix: 16) }
    }

    /// Describes how the frames differ from the thread of a report.
    ///
    /// Returns nil if the frames are equal.
    func difference(from thread: CrashReport.CrashedThread) -> String? {
      var ours = thread.stackFrames.map(\.address.rawValue)
      var theirs = pcs
      if thread.framesOmitted != nil {
        // The report omits frames from the middle of a deep recursion, so this compares only the innermost 100 frames.
        ours = Array(ours.prefix(100))
        theirs = Array(theirs.prefix(100))
        if ours.count < 100 { return "only \(ours.count) frames before the gap" }
      }
      if !theirs.isEmpty && ours == theirs { return nil }
      let hexadecimal = { (pcs: [UInt64]) in pcs.map { "0x" + String($0, radix: 16) }.joined(separator: " ") }
      return "ours  \(hexadecimal(ours))\ngdb's \(hexadecimal(theirs))\n\(thread.listing)"
    }
  }

  /// Runs a program several times in one gdb session, because gdb takes a long time to read the program's symbols.
  ///
  /// gdb 13 sometimes waits forever for a process that has already ended, or fails with an internal error. In both
  /// cases, a new gdb session repeats the runs that have no stack yet.
  static func unwind(_ runs: [String], of program: String, under daemon: PrivateDaemon) async throws -> [Truth] {
    var truths: [Truth] = []
    var failures = 0
    while truths.count < runs.count {
      let session = try await unwindOnce(Array(runs.dropFirst(truths.count)), of: program, under: daemon)
      truths += session.truths
      failures = session.truths.isEmpty ? failures + 1 : 1
      if let failure = session.failure, failures > failureLimit {
        throw SystemError("\(runs[truths.count]): \(failure)", EPROTO)
      }
      try #require(
        session.failure != nil || truths.count == runs.count, "gdb answered \(truths.count) of \(runs.count)")
    }
    return truths
  }

  /// Unwinds the stack in the core file of a program for another architecture.
  static func unwind(core: String, of program: String) async throws -> Truth {
    let directory = try TestDirectory()
    let output = directory.path + "/frames"
    let gdb = try ChildProcess.start(
      "/usr/bin/gdb-multiarch", ["-batch", "-nx", "-x", script, program],
      ChildProcess.Options(
        environment: ["FRAMES_RUNS": "core", "FRAMES_OUTPUT": output, "FRAMES_CORES": "1", "FRAMES_CORE": core],
        directory: directory.path, errorPath: directory.path + "/stderr"))
    let status = try await gdb.wait()
    if status.code != 0 { throw SystemError("gdb: \(status): \(try contents(of: directory.path + "/stderr"))", EPROTO) }
    return try Truth(line: try contents(of: output))
  }

  private static let script = SourceMark.package + "/Tests/Kit/Support/gdb_frames.py"

  /// The maximum number of failures of gdb at one run, after which the test fails.
  ///
  /// On a machine with a load of 10, gdb 13 ended five times in a row with "Recursive internal problem."
  private static let failureLimit = 12

  /// The number of time slices after which the test assumes that gdb has missed the end of its process.
  private static let deadLimit = 10

  /// Whether all threads of gdb's child process have ended.
  private static func waitsForDead(_ gdb: pid_t) -> Bool {
    guard let children = try? contents(of: "/proc/\(gdb)/task/\(gdb)/children"),
      let child = children.split(separator: " ").first, let threads = try? entries(of: "/proc/\(child)/task")
    else { return false }
    return threads.allSatisfy { thread in
      // In /proc/PID/stat, the state follows the name in parentheses. If the file does not exist, the thread has ended.
      let stat = try? contents(of: "/proc/\(child)/task/\(thread)/stat")
      return stat?.split(separator: ")").last?.hasPrefix(" Z") ?? true
    }
  }

  /// Runs one gdb session.
  ///
  /// Returns the stacks, and a failure if gdb did not return a stack for each run.
  private static func unwindOnce(
    _ runs: [String], of program: String, under daemon: PrivateDaemon
  ) async throws -> (truths: [Truth], failure: String?) {
    let directory = try TestDirectory()
    let output = directory.path + "/frames"
    let errorPath = directory.path + "/stderr"
    var environment = daemon.place.environment
    environment["FRAMES_RUNS"] = runs.joined(separator: " ")
    environment["FRAMES_OUTPUT"] = output
    environment["FRAMES_CORES"] = MatrixEmulation.isUsed ? "1" : nil
    let gdb = try ChildProcess.start(
      MatrixEmulation.isUsed ? "/usr/bin/gdb-multiarch" : "/usr/bin/gdb",
      ["-batch", "-nx", "-x", script, program],
      ChildProcess.Options(
        environment: environment, directory: directory.path, coreLimit: MatrixEmulation.isUsed ? .unlimited : .none,
        errorPath: errorPath))
    var failure: String?
    do {
      let pid = gdb.pid
      let deadSlices = Mutex(0)
      let status = try await gdb.wait(slices: 240) {
        let isDead = waitsForDead(pid)
        return deadSlices.withLock { slices in
          slices = isDead ? slices + 1 : 0
          return slices == deadLimit
        }
      }
      if status.code != 0 { failure = "gdb: \(status): \(try contents(of: errorPath).suffix(2_000))" }
    } catch let error as SystemError where error.errno == ETIMEDOUT {
      failure = "\(error)"
    }
    // A last line without a newline is incomplete.
    let text = try contents(of: output)
    let lines = text.split(separator: "\n").dropLast(text.isEmpty || text.hasSuffix("\n") ? 0 : 1)
    let truths = try lines.map { try Truth(line: String($0)) }
    // If gdb ends, the kernel kills the process that gdb traces, possibly before the shield's handler has run in it. So
    // this drops the last stack.
    return (failure == nil ? truths : truths.dropLast(), failure)
  }
}
