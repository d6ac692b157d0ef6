import CrashClient
import FakeDaemon
import Foundation
import Testing

@testable import CrashControl

@Suite("crashctl doctor")
struct DoctorTests {
  @Test("without a crashd that is the fault, and the sentence is crashctl's own")
  func noDaemon() throws {
    let findings = Doctor(client: CrashClient(socketPath: "/nowhere/s")).machine()
    let crashd = try #require(findings.first { $0.subject == "crashd" })
    #expect(crashd.level == .fault)
    #expect(crashd.sentence.hasPrefix("no crashd at '/nowhere/s'"))
    #expect(findings.first { $0.subject == "attach socket" }?.level == .fault)
  }

  @Test("what crashd could not keep and its store's trouble are told")
  func trouble() throws {
    let daemon = try FakeDaemon { connection in
      while connection.call() != nil {
        connection.reply(
          #"{"version":"9","pid":1,"uptime_s":5,"processes":2,"ending":0,"reports":7,"storeBytes":1,"#
            + #""losses":{"ring":3,"report":0},"refusals":{},"held":4,"trouble":["the disk is full"]}"#)
      }
    }
    defer { daemon.stop() }
    let findings = Doctor(client: CrashClient(socketPath: daemon.socketPath)).machine()
    #expect(findings.first { $0.subject == "crashd" }?.level == .good)
    #expect(
      findings.filter { $0.subject == "store" }.map(\.sentence)
        == ["the disk is full", "4 reports wait in memory because the store takes none"])
    #expect(findings.first { $0.subject == "losses" }?.sentence == "since crashd started: 3 ring")
  }

  @Test("a process without the shield, one with it, and one whose handlers were taken away")
  func processes() throws {
    let all = "0000000000000cf8"  // SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGUSR1, SIGSEGV
    #expect(try levels(caught: all, maps: "")["shield"] == .fault)
    #expect(try levels(caught: all, maps: "/memfd:crash-shield (deleted)")["shield"] == .warning)
    #expect(try levels(caught: all, maps: "/memfd:crash-shield (deleted)", attached: true)["shield"] == .good)
    #expect(try levels(caught: all, maps: "/memfd:crash-shield (deleted)")["handlers"] == .good)
    let findings = try findings(caught: "0000000000000478", maps: "/memfd:crash-shield (deleted)")
    let handlers = try #require(findings.first { $0.subject == "handlers" })
    #expect(handlers.level == .fault)
    #expect(handlers.sentence == "SIGFPE have no handler: such crashes are not seen")
  }

  @Test("Swift's own backtracer is warned of where it is on")
  func backtracer() throws {
    #expect(try levels(environment: ["A=1", "SWIFT_BACKTRACE=color=no,enable=yes"])["backtracer"] == .warning)
    #expect(try levels(environment: ["SWIFT_BACKTRACE=enable=no"])["backtracer"] == nil)
    #expect(try levels(environment: [])["backtracer"] == nil)
  }

  @Test("a process that is not there is told apart from one that is well")
  func nobody() {
    let doctor = Doctor(client: CrashClient(socketPath: "/nowhere/s"), system: "/nowhere")
    #expect(doctor.process(1) == nil)
  }

  @Test("this test's own program has unwind tables and debug information; a text is no program")
  func programs() throws {
    let doctor = Doctor(client: CrashClient(socketPath: "/nowhere/s"))
    let own = doctor.program(try CommandLineTests.product("crash-maker"))
    #expect(own.first { $0.subject == "symbols" }?.level == .good)
    #expect(own.first { $0.subject == "unwinding" }?.level == .good)
    #expect(own.allSatisfy { $0.level != .fault })
    #expect(doctor.program("/proc/self/status").map(\.level) == [.fault])
    #expect(doctor.program("/dev/zero").map(\.level) == [.fault])
    #expect(doctor.program("/nowhere").map(\.level) == [.fault])
  }

  @Test("a section table that lies is no section table")
  func hostileImage() throws {
    let scratch = try Scratch()
    defer { scratch.remove() }
    var bytes = [UInt8](repeating: 0, count: 4096)
    bytes.replaceSubrange(0..<6, with: [0x7f, 0x45, 0x4c, 0x46, 2, 1])
    for word in 5..<8 { bytes.replaceSubrange(word * 8..<word * 8 + 8, with: [UInt8](repeating: 0xff, count: 8)) }
    let path = try scratch.write("hostile", bytes)
    let findings = Doctor(client: CrashClient(socketPath: "/nowhere/s")).program(path)
    #expect(findings.first { $0.subject == "symbols" }?.level == .warning)
    #expect(findings.first { $0.subject == "unwinding" }?.level == .warning)
  }

  @Test("it exits with 1 where there is a fault, and says what to do")
  func commandLine() throws {
    let result = try CommandLineTests.crashctl(["doctor"], environment: ["CRASHD_SOCKET": "/nowhere/s"])
    #expect(result.status == 1)
    #expect(result.complaint.isEmpty)
    #expect(result.output.contains("FAULT   crashd"))
    #expect(result.output.contains("start crashd.socket"))
  }

  // MARK: A process as /proc shows it

  private func levels(
    caught: String = "0000000000000cf8", maps: String = "/memfd:crash-shield (deleted)", environment: [String] = [],
    attached: Bool = false
  ) throws -> [String: Finding.Level] {
    let found = try findings(caught: caught, maps: maps, environment: environment, attached: attached)
    return Dictionary(found.map { ($0.subject, $0.level) }, uniquingKeysWith: { first, _ in first })
  }

  @Test(
    "says of a process whose memory is not kept, and by whose word",
    arguments: [
      ("full", nil), ("scrubbed", nil), ("none", "the program"), ("withheld", "privacy.no-memory"),
      ("discarded", "privacy.no-memory"), ("of a later version", nil),
    ])
  func memory(word: String, text: String?) throws {
    let found = try findings(
      caught: "0000000000000cf8", maps: "/memfd:crash-shield (deleted)", attached: true, memory: word)
    let memory = found.filter { $0.subject == "memory" }
    #expect(memory.count == (text == nil ? 0 : 1))
    if let text { #expect(memory.first?.sentence.contains(text) == true && memory.first?.level == .note) }
  }

  private func findings(
    caught: String, maps: String, environment: [String] = [], attached: Bool = false, memory: String = "scrubbed"
  ) throws -> [Finding] {
    let scratch = try Scratch()
    defer { scratch.remove() }
    try FileManager.default.createDirectory(atPath: scratch.path + "/42", withIntermediateDirectories: false)
    let status = "Name:\tshop\nUid:\t1000\t1000\t1000\t1000\nSigIgn:\t0000000000001000\nSigCgt:\t\(caught)\n"
    _ = try scratch.write("42/status", Array(status.utf8))
    _ = try scratch.write("42/maps", Array("7f00-7f01 rw-s 00000000 00:01 7 \(maps)\n".utf8))
    _ = try scratch.write("42/environ", Array(environment.joined(separator: "\0").utf8))
    let daemon = try FakeDaemon { connection in
      while connection.call() != nil {
        let process =
          #"{"pid":42,"uid":1000,"name":"shop","executable":"/srv/shop","buildID":"ab","startTime":"","attachTime":"","#
          + #""state":"running","memory":"\#(memory)"}"#
        connection.reply(#"{"processes":[\#(attached ? process : "")]}"#)
      }
    }
    defer { daemon.stop() }
    let doctor = Doctor(client: CrashClient(socketPath: daemon.socketPath), system: scratch.path)
    return try #require(doctor.process(42))
  }
}

/// A directory of one test's own.
private struct Scratch {
  let path = "/tmp/cs-doctor-\(UUID().uuidString.prefix(8))"

  init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false) }

  func write(_ name: String, _ bytes: [UInt8]) throws -> String {
    try Data(bytes).write(to: URL(filePath: "\(path)/\(name)"))
    return "\(path)/\(name)"
  }

  func remove() { try? FileManager.default.removeItem(atPath: path) }
}
