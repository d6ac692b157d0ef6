import Foundation
import TestKit
import Testing

/// Tests what the sandbox of the helper processes crash-analyse and crash-fetch allows, even if they are compromised.
///
/// The program confine-probe sandboxes itself in the same way as these two programs, and then tries each action.
@Suite(.enabled(if: !Tools.isSanitized, "under a sanitizer only some limits are set"))
struct ConfineTests {
  private func probe(_ what: String...) throws -> TestProgram.Answer {
    try Tools.run(
      TestProgram.url("confine-probe"), what, input: URL(fileURLWithPath: "/dev/null"))
  }

  @Test("a confined crash-fetch can open Internet sockets")
  func fetching() throws {
    #expect(try probe("socket", "fetch").status == 0)
    #expect(try probe("wait", "fetch").status == 0)
  }

  @Test(
    "a confined crash-fetch cannot open a file, reach a local service or start a process",
    arguments: [
      "open", "create", "unlink", "local-socket", "netlink", "fork", "exec", "trace", "kill", "memory", "output",
    ])
  func fetchingRefused(what: String) throws {
    let answer = try probe(what, "fetch")
    #expect(answer.status == 1 && answer.output.isEmpty)
    #expect(!FileManager.default.fileExists(atPath: "/tmp/confine-probe"))
  }

  @Test("a confined crash-fetch cannot map executable memory", arguments: ["map-code", "make-code"])
  func fetchingCode(what: String) throws {
    #expect(try probe(what, "fetch").status == -SIGSYS)
  }

  @Test(
    "F21: a confined helper process can stat an open file, but not a path",
    arguments: [["stat"], ["stat-at"], ["stat", "fetch"], ["stat-at", "fetch"]])
  func questions(what: [String]) throws {
    let (program, null) = (TestProgram.url("confine-probe"), URL(fileURLWithPath: "/dev/null"))
    #expect(try Tools.run(program, what, input: null).status == 1)
    #expect(try probe("stat-input").status == 0)
  }

  @Test("a confined helper process cannot open or create a file", arguments: ["open", "create"])
  func paths(what: String) throws {
    #expect(try probe(what).status == 1)
    #expect(!FileManager.default.fileExists(atPath: "/tmp/confine-probe"))
  }

  @Test(
    "a system call that is not needed to read an image ends a confined helper process",
    arguments: ["socket", "fork", "exec", "trace", "kill", "unlink", "map-code", "make-code"])
  func calls(what: String) throws {
    #expect(try probe(what).status == -SIGSYS)
  }

  @Test("the memory and the output size of a confined helper process are limited")
  func amounts() throws {
    #expect(try probe("memory").status == 1)
    let answer = try probe("output")
    #expect(answer.status == 1)
    #expect(answer.output.isEmpty)
  }

  @Test("a confined helper process can read its input and exit")
  func allowed() throws {
    #expect(try probe("wait").status == 0)
    #expect(try probe("abort").status == -SIGABRT)
  }

  @Test("a confined process has its limits, its seccomp filter and no_new_privs set")
  func limits() throws {
    let process = Process()
    process.executableURL = TestProgram.url("confine-probe")
    process.arguments = ["wait"]
    let (input, output) = (Pipe(), Pipe())
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    defer {
      #expect(throws: Never.self) { try input.fileHandleForWriting.close() }
      process.waitUntilExit()
    }
    // Waits until the process has the seccomp filter, the last part of its sandbox.
    let folder = URL(fileURLWithPath: "/proc/\(process.processIdentifier)")
    func read(_ name: String) throws -> String {
      let handle = try FileHandle(forReadingFrom: folder.appendingPathComponent(name))
      return String(decoding: try handle.readToEnd() ?? Data(), as: UTF8.self)
    }
    while try !read("status").contains("Seccomp:\t2\n") { sched_yield() }
    #expect(try read("status").contains("NoNewPrivs:\t1\n"))
    let limits = try read("limits").split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
    for limit in [
      "Max cpu time 30 30 seconds", "Max file size 268435456 268435456 bytes", "Max core file size 0 0 bytes",
      "Max open files 3 3 files", "Max address space 2147483648 2147483648 bytes",
    ] {
      #expect(limits.contains(limit), "\(limit)")
    }
  }

  @Test("F20: the limits of memory and CPU time depend on the size of the image")
  func smallImage() throws {
    let image = FileManager.default.temporaryDirectory.appendingPathComponent("image-\(UUID().uuidString)")
    try Data(count: 32 << 10).write(to: image)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: image) } }
    let program = TestProgram.url("confine-probe")
    #expect(try Tools.run(program, ["gibibyte"], input: image).status == 0)
    #expect(try Tools.run(program, ["gibibyte", "image"], input: image).status == 1)
    // The CPU time limit for this small image is short. Without an image, it would be half a minute.
    var (before, after) = (rusage(), rusage())
    // Invariant: each getrusage() call writes one struct rusage.
    unsafe getrusage(__rusage_who_t(RUSAGE_CHILDREN.rawValue), &before)
    #expect([-SIGKILL, -SIGXCPU].contains(try Tools.run(program, ["processor", "image"], input: image).status))
    unsafe getrusage(__rusage_who_t(RUSAGE_CHILDREN.rawValue), &after)
    // The measured time includes children of other tests, which use much less than half a minute.
    #expect(after.ru_utime.tv_sec - before.ru_utime.tv_sec < 25)
  }

  @Test("the kernel ends a confined helper that is in an endless loop at the CPU time limit")
  func processor() throws {
    // The test lowers the CPU time limit, because cs_confine sets half a minute.
    let answer = try Tools.run(
      URL(fileURLWithPath: "/bin/sh"),
      ["-c", "ulimit -t 1; exec \"$0\" processor", TestProgram.url("confine-probe").path],
      input: URL(fileURLWithPath: "/dev/null"))
    #expect([-SIGKILL, -SIGXCPU].contains(answer.status))
  }
}
