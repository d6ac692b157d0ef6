import CrashClient
import CrashProtocol
import CrashReport
import Foundation
import TestKit
import Testing

@testable import CrashControl

/// Tests that crashctl never passes strings of a crashed process as commands to a debugger, a pager or a shell.
@Suite("Attacks on crashctl debug and the pager")
struct DebuggingTests {
  /// A directory of files.
  ///
  /// The deinit removes it.
  private struct Scratch: ~Copyable {
    let path = "/tmp/cs-debug-\(UUID().uuidString.prefix(8))"

    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false) }
    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Creates a program that has a build ID, under this file name.
    ///
    /// It is a copy of crashctl.
    func program(_ name: String) throws -> String {
      let copy = "\(path)/\(name)"
      try FileManager.default.copyItem(atPath: CommandLineTests.product("crashctl"), toPath: copy)
      return copy
    }
  }

  private static func buildID() throws -> String {
    try #require(ImageBuildID.read(CommandLineTests.product("crashctl")))
  }

  /// Runs `crashctl debug` for a crash of a process with this executable and this build ID.
  ///
  /// A program that prints its arguments stands for the debugger.
  private static func debug(
    _ executable: String, _ buildID: String, environment: [String: String] = [:]
  ) throws -> CommandLineTests.Result {
    let text = String(decoding: try JSONEncoder().encode(executable), as: UTF8.self)
    let report = SampleJSON.report(id: "bb22").replacing(#""/srv/shop""#, with: text)
      .replacing(#""buildID":"ab""#, with: #""buildID":"\#(buildID)""#)
    let daemon = try FakeDaemon { connection in
      while connection.call() != nil { connection.reply(#"{"report":\#(report)}"#) }
    }
    defer { daemon.stop() }
    return try CommandLineTests.crashctl(
      ["debug", "bb22", "--debugger", "/bin/echo", "--core", "/bin/true", "--socket", daemon.socketPath],
      environment: environment)
  }

  @Test("F1: the file of the crashed build is passed to the debugger")
  func build() throws {
    let scratch = try Scratch()
    let program = try scratch.program("shop server ä")
    let result = try Self.debug(program, Self.buildID())
    #expect(result.output == "\(program) -c /bin/true\n" && result.complaint.isEmpty)
  }

  @Test(
    "F1: an executable without an absolute path is never passed to the debugger",
    arguments: [
      "-ex=shell id", "--command=/tmp/x", "-", "", "crashctl", "./crashctl", "not a path: -ex=shell id", "@x",
    ])
  func words(executable: String) throws {
    let result = try Self.debug(executable, Self.buildID())
    #expect(result.status == 0 && result.output == "-c /bin/true\n")
    #expect(result.complaint.contains("is not an absolute path: the debugger starts without the executable"))
  }

  @Test(
    "F1: a file of the report's build with a name that lldb would read as commands is not passed to lldb",
    arguments: ["a\nplatform shell id\n", "a`id`", "a\"b", "a'b", "a\\", "a$x", "a\rb", "a\u{1b}b"])
  func names(name: String) throws {
    let scratch = try Scratch()
    let result = try Self.debug(scratch.program(name), Self.buildID())
    #expect(result.status == 0 && result.output == "-c /bin/true\n")
    #expect(result.complaint.contains("may take for commands"))
  }

  @Test("F1: a file that is missing, or has another build id or no build id, is not passed to the debugger")
  func otherBuilds() throws {
    let scratch = try Scratch()
    let program = try scratch.program("shop")
    for (executable, buildID) in [(program, "abcd"), (program, ""), ("/nowhere/shop", "abcd"), ("/etc/passwd", "")] {
      let result = try Self.debug(executable, buildID)
      #expect(result.status == 0 && result.output == "-c /bin/true\n", "\(executable) \(buildID)")
    }
  }

  @Test(
    "F15: crashctl with elevated privileges starts no debugger",
    arguments: [["SUDO_UID": "4711"], ["SUDO_UID": "x"], ["PKEXEC_UID": "4711"], ["DOAS_USER": "shop"]])
  func raisedDebug(environment: [String: String]) throws {
    let scratch = try Scratch()
    let result = try Self.debug(scratch.program("shop"), Self.buildID(), environment: environment)
    #expect(result.status == 2 && result.output.isEmpty && result.complaint.contains("is set"))
  }

  @Test("F15: crashctl without elevated privileges uses the caller's pager")
  func callersPager() throws {
    for environment in [[:], ["SUDO_UID": "\(geteuid())"], ["DOAS_USER": "root"]] {
      let settings = environment.merging(["PAGER": "more -s", "LESSOPEN": "|x"]) { $1 }
      let caller = CallerRights(environment: settings, isSecure: false)
      let command = try #require(PagerCommand(environment: settings, caller: caller))
      #expect(command.program == "sh" && command.arguments == ["-c", "more -s"])
      #expect(command.environment["LESSSECURE"] == nil && command.environment["LESSOPEN"] == "|x")
    }
    #expect(CallerRights(environment: [:], isSecure: true).surplus != nil)
    #expect(CallerRights(environment: ["SUDO_UID": "0"], isSecure: false, user: 1000).surplus != nil)
  }

  @Test("F15: crashctl with elevated privileges runs less without a shell, a log file or the caller's options")
  func raisedPager() throws {
    let settings = [
      "SUDO_UID": "\(geteuid() + 1)", "PAGER": "sh", "LESS": "-o/tmp/x", "LESSOPEN": "|id %s", "LESSCLOSE": "id",
      "LESSKEY": "/tmp/k", "LESSEDIT": "id", "LESSKEYIN": "/tmp/k", "PATH": "/tmp", "HOME": "/tmp", "EDITOR": "id",
      "VISUAL": "id", "SHELL": "/tmp/x", "TERM": "xterm", "LC_ALL": "C.UTF-8",
    ]
    let caller = CallerRights(environment: settings, isSecure: false)
    let command = try #require(PagerCommand(environment: settings, caller: caller))
    #expect(command.program == "/usr/bin/less" && command.arguments.isEmpty)
    #expect(
      command.environment == [
        "LESSSECURE": "1", "LESS": "FRSX", "LESSHISTFILE": "-", "PATH": "/usr/bin:/bin", "TERM": "xterm",
        "LC_ALL": "C.UTF-8",
      ])
  }

  @Test("F15: crashctl with elevated privileges does not run the caller's $PAGER")
  func pagerIsNotRun() throws {
    let scratch = try Scratch()
    let mark = scratch.path + "/ran"
    let raised = ["PAGER": "touch '\(mark)'; cat >/dev/null", "PATH": "/usr/bin:/bin"]
    try Pager.show("", environment: raised.merging(["SUDO_UID": "\(geteuid() + 1)"]) { $1 })
    #expect(!FileManager.default.fileExists(atPath: mark))
    try Pager.show("", environment: raised)
    #expect(FileManager.default.fileExists(atPath: mark))
  }
}
