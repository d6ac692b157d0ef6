import CrashReport
import Glibc
import TestKit
import Testing

/// Tests of a program whose file is replaced or deleted before crashd starts.
///
/// After that, crashd can read the running program's file only through the descriptor that the process sends.
@Suite
struct DeployTests {
  @Test("the report of a crash after a deploy has the lines of the running build", arguments: ["replaced", "deleted"])
  func deploy(how: String) async throws {
    let directory = try TestDirectory()
    let library = try await Binaries.preloadLibrary()
    let program = directory.path + "/shop"
    try await Self.compile(newLines: 0, to: program, in: directory)

    // crashd is not running yet, so it cannot have read the file before the deploy.
    let place = try PrivateDaemon.Place()
    let (ours, theirs) = try FileDescriptor.pair()
    let process = try ChildProcess.start(
      program, [],
      ChildProcess.Options(
        environment: place.environment.merging(["LD_PRELOAD": library]) { $1 }, directory: directory.path,
        input: theirs.number, output: theirs.number))
    do {
      let line = try await blocking { try ours.readLine() }
      try #require(line == "ready")
      let old = try #require(Self.inode(of: program))
      // Inserts a line into the source, builds the program again, and replaces the old file.
      try await Self.compile(newLines: 23, to: program + ".new", in: directory)
      #expect(unsafe rename(program + ".new", program) == 0)
      if how == "deleted" { #expect(unsafe unlink(program) == 0) }
      #expect(Self.inode(of: program) != old)

      let daemon = try await PrivateDaemon.start(in: place)
      // If the process has not attached to the new crashd yet, it connects when it crashes, and sends the same
      // descriptor.
      try #require(unsafe write(ours.number, "\n", 1) == 1)
      #expect(try await process.wait().signal == SIGSEGV)
      let reports = try await daemon.reports(of: process.pid)
      try await daemon.stop()
      let thread = try #require(reports.first?.crashedThread)
      let frame = try #require(thread.topOwnFrame, "\(thread.listing)")
      #expect(frame.function == "sell")
      #expect(frame.file?.hasSuffix("/shop.c") == true)
      #expect(frame.line == Self.faultLine, "\(thread.listing)")
      #expect(reports.count == 1)
    } catch {
      process.signal(SIGKILL)
      try await process.wait()
      throw error
    }
  }

  /// The line of the fault in the source of the first build, to which no lines were added.
  private static let faultLine = 6

  private static func compile(newLines: Int, to output: String, in directory: TestDirectory) async throws {
    let source = directory.path + "/shop.c"
    // Adds `newLines` lines before the function and inside the function, so that the fault moves to another line.
    let lines = (0..<newLines).map { "int stock_\($0);\n" }.joined()
    let text = """
      #include <stdio.h>
      #include <unistd.h>
      \(lines)
      __attribute__((noinline)) static int sell(volatile int *stock) {
      \(newLines > 0 ? "  if (getpid() == 1) return 2;\n" : "")
        return *stock - 1;
      }
      int main(void) {
        char byte;
        puts("ready");
        fflush(stdout);
        if (read(0, &byte, 1) != 1) return 1;
        return sell((volatile int *)(long)(byte - '\\n' + 8));
      }

      """
    try Self.save(text, to: source)
    // crashd identifies an image by its build ID, which clang adds only with the option `--build-id`.
    try await ChildProcess.run(
      "/usr/bin/env", ["clang", "-g", "-O1", "-Wl,--build-id", source, "-o", output], in: directory)
  }

  private static func inode(of path: String) -> UInt? {
    var status = stat()
    return unsafe stat(path, &status) == 0 ? UInt(status.st_ino) : nil
  }

  private static func save(_ text: String, to path: String) throws {
    let file = try FileDescriptor(
      unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600), from: "open '\(path)'")
    let bytes = Array(text.utf8)
    guard unsafe Glibc.write(file.number, bytes, bytes.count) == bytes.count else { throw SystemError("write", errno) }
  }
}
