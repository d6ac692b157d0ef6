import CrashControl
import Foundation
import Testing

/// Tests `run` and `demo` with the real crashd in the directory of crashctl.
@Suite("crashctl run")
struct RunTests {
  /// Runs the body with a directory in which crashctl creates its own temporary directory.
  ///
  /// Checks afterwards that the directory is empty, because crashctl must remove its temporary directory.
  private func withDirectory(_ body: (String) throws -> Void) throws {
    let path = "/tmp/cs-run-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    try body(path)
    #expect(try FileManager.default.contentsOfDirectory(atPath: path).isEmpty)
    try FileManager.default.removeItem(atPath: path)
  }

  /// Waits until no process has the path in its arguments.
  ///
  /// Returns false after a minute.
  ///
  /// A child that crashd has forked just before its end has crashd's arguments until it calls exec. The test polls,
  /// because only the child's parent could call waitpid().
  private func haveGone(naming path: String) throws -> Bool {
    for _ in 0..<600 {
      if try processes(naming: path).isEmpty { return true }
      usleep(100_000)
    }
    return false
  }

  /// Returns the processes whose command line contains the directory.
  private func processes(naming path: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "/proc").filter { entry in
      guard Int(entry) != nil, let line = FileManager.default.contents(atPath: "/proc/\(entry)/cmdline") else {
        return false
      }
      return String(decoding: line, as: UTF8.self).contains(path)
    }
  }

  /// Returns whether a process has ended, or the kernel is ending it.
  private func isEnding(_ pid: String) throws -> Bool {
    guard let stat = FileManager.default.contents(atPath: "/proc/\(pid)/stat"),
      let status = FileManager.default.contents(atPath: "/proc/\(pid)/status")
    else { return true }
    // The kernel is ending the process if its flags contain PF_EXITING, or if a SIGKILL is pending.
    let fields = String(decoding: stat, as: UTF8.self).split(separator: ")").last?.split(separator: " ") ?? []
    let isExiting = fields.count > 6 && (UInt64(fields[6]) ?? 0) & 4 != 0
    let pending = String(decoding: status, as: UTF8.self).split(separator: "\n").filter { $0.contains("Pnd:") }
    return isExiting
      || pending.contains { line in (UInt64(line.split(separator: "\t").last ?? "", radix: 16) ?? 0) & 0x100 != 0 }
  }

  @Test("run keeps the program's input, output and exit code")
  func transparent() throws {
    try withDirectory { path in
      let result = try CommandLineTests.crashctl(
        ["run", "--", "sh", "-c", "cat; echo out; exit 7"], environment: ["TMPDIR": path], input: "in\n")
      #expect(result.status == 7 && !result.isSignal)
      #expect(result.output == "in\nout\n")
      #expect(result.complaint == "crashctl: 'sh' never attached to crashd: does the program call Shield.start()?\n")
      #expect(try haveGone(naming: path))
    }
  }

  @Test(
    "run exits with 127 for a missing program, and with 126 for one that cannot be executed",
    arguments: [("nope", 127), ("/etc", 126)])
  func notStarted(program: String, status: Int32) throws {
    try withDirectory { path in
      let result = try CommandLineTests.crashctl(["run", program], environment: ["TMPDIR": path])
      #expect(result.status == status)
      #expect(result.complaint.hasPrefix("crashctl: cannot run '\(program)' ("))
    }
  }

  @Test("run reports a crash on standard error, and ends by the same signal")
  func crash() throws {
    try withDirectory { path in
      let maker = try CommandLineTests.product("crash-maker")
      let result = try CommandLineTests.crashctl(
        ["run", "--", maker, "array-index"], environment: ["TMPDIR": path, "SWIFT_BACKTRACE": "enable=no"])
      #expect(result.isSignal && result.status == SIGILL)
      #expect(result.output.isEmpty)
      #expect(result.complaint.contains("Index out of range"))
      #expect(result.complaint.contains("faultArrayIndex()"))
      #expect(try haveGone(naming: path))
    }
  }

  @Test("run --json prints the crash report as JSON")
  func json() throws {
    try withDirectory { path in
      let maker = try CommandLineTests.product("crash-maker")
      let result = try CommandLineTests.crashctl(
        ["run", "--json=short", "--", maker, "null-write"],
        environment: ["TMPDIR": path, "SWIFT_BACKTRACE": "enable=no"])
      let line = try #require(result.complaint.split(separator: "\n").first { $0.hasPrefix("{") })
      let report = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
      let signal = try #require(report["signal"] as? [String: Any])
      #expect(signal["name"] as? String == "SIGSEGV")
    }
  }

  @Test("run forwards signals to the program")
  func forwarding() throws {
    try withDirectory { path in
      let result = try CommandLineTests.crashctl(
        ["run", "--", "sh", "-c", "trap 'echo got; exit 9' TERM; echo ready; while :; do read line; done"],
        environment: ["TMPDIR": path], afterFirstLine: { kill($0, SIGTERM) })
      #expect(result.status == 9)
      #expect(result.output == "got\n")
    }
  }

  @Test("D21: if a signal ends the program without a crash, run reports that")
  func ended() throws {
    try withDirectory { path in
      let maker = try CommandLineTests.product("crash-maker")
      let result = try CommandLineTests.crashctl(
        ["run", "--", maker, "null-write", "--wait-attached", "--wait-input"], environment: ["TMPDIR": path],
        afterFirstLine: { kill($0, SIGTERM) })
      #expect(result.isSignal && result.status == SIGTERM)
      #expect(result.complaint.contains("signal 15, without a report: it is not the signal of a crash"))
      #expect(try haveGone(naming: path))
    }
  }

  @Test("D21: processes that crashd has started end together with crashctl")
  func servants() throws {
    try withDirectory { path in
      let maker = try CommandLineTests.product("crash-maker")
      _ = try CommandLineTests.crashctl(
        ["run", "--", maker, "array-index"], environment: ["TMPDIR": path, "SWIFT_BACKTRACE": "enable=no"])
      #expect(try processes(naming: path).filter { try !isEnding($0) }.isEmpty)
      #expect(try haveGone(naming: path))
    }
  }

  @Test("D21: run reports the crash of a forked child")
  func forkedChild() throws {
    try withDirectory { path in
      let maker = try CommandLineTests.product("crash-maker")
      let result = try CommandLineTests.crashctl(
        ["run", "--", maker, "fork-child"], environment: ["TMPDIR": path, "SWIFT_BACKTRACE": "enable=no"])
      #expect(result.complaint.contains("SIGSEGV"))
      #expect(try haveGone(naming: path))
    }
  }

  @Test("run --keep leaves its directory and prints the path")
  func keep() throws {
    try withDirectory { path in
      let result = try CommandLineTests.crashctl(["run", "--keep", "--", "true"], environment: ["TMPDIR": path])
      #expect(result.status == 0)
      let name = try #require(FileManager.default.contentsOfDirectory(atPath: path).first)
      #expect(result.complaint.contains("crashctl: kept '\(path)/\(name)'"))
      #expect(FileManager.default.fileExists(atPath: "\(path)/\(name)/state/reports.sqlite"))
      #expect(try haveGone(naming: path))
      try FileManager.default.removeItem(atPath: "\(path)/\(name)")
    }
  }

  @Test(
    "if the reader of crashctl's output ends, run leaves no process and no file behind",
    arguments: [["demo"], ["run", "--", "sh", "-c", "echo 1; kill -SEGV $$"]])
  func readerGone(arguments: [String]) throws {
    try withDirectory { path in
      let shell = Process()
      shell.executableURL = URL(filePath: "/bin/sh")
      // head reads one line and exits. From then on, crashctl writes to a pipe without a reader.
      shell.arguments =
        ["-c", #"{ "$0" "$@" 2>&1; true; } | head -n 1"#, try CommandLineTests.product("crashctl")]
        + arguments
      shell.environment = ["PATH": "/usr/bin:/bin", "TMPDIR": path]
      shell.standardOutput = FileHandle.nullDevice
      let complaint = Pipe()
      shell.standardError = complaint
      try shell.run()
      // The pipe `complaint` is the standard error of the shells and of head. It closes when the last of these
      // processes has ended, and a shell that waits for crashctl is among them.
      _ = try complaint.fileHandleForReading.readToEnd()
      shell.waitUntilExit()
      #expect(try haveGone(naming: path))
    }
  }

  @Test("demo shows every crash that it causes")
  func demo() throws {
    try withDirectory { path in
      let result = try CommandLineTests.crashctl(["demo"], environment: ["TMPDIR": path])
      #expect(result.status == 0, "\(result.complaint)")
      #expect(result.output.hasSuffix("5 of 5 crashes reported.\n"))
      #expect(try haveGone(naming: path))
    }
  }
}
