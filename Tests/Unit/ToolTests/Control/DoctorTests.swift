import CrashClient
import CrashProtocol
import CrashShield
import CrashShieldGuards
import Foundation
import TestKit
import Testing

@testable import CrashControl

@Suite("crashctl doctor")
struct DoctorTests {
  @Test("without crashd doctor reports one fault, with the same sentence as other commands")
  func noDaemon() throws {
    let findings = Doctor(client: CrashClient(socketPath: "/nowhere/s")).machine()
    let crashd = try #require(findings.first { $0.subject == "crashd" })
    #expect(crashd.level == .fault)
    #expect(crashd.sentence.hasPrefix("no crashd at '/nowhere/s'"))
    #expect(findings.first { $0.subject == "attach socket" }?.level == .fault)
  }

  @Test("doctor reports crashd's losses and store failures")
  func storeFailure() throws {
    let daemon = try FakeDaemon { connection in
      while connection.call() != nil {
        connection.reply(
          #"{"version":"9","pid":1,"uptime_s":5,"processes":2,"ending":1,"reports":7,"storeBytes":1,"#
            + #""losses":{"ring":3,"report":0},"refusals":{},"held":4,"trouble":["the disk is full"]}"#)
      }
    }
    defer { daemon.stop() }
    let findings = Doctor(client: CrashClient(socketPath: daemon.socketPath)).machine()
    let crashd = findings.first { $0.subject == "crashd" }
    #expect(crashd == Finding(.good, "crashd", "version 9, process 1; processes: 1 attached, 1 ending"))
    #expect(
      findings.filter { $0.subject == "store" }.map(\.sentence)
        == ["the disk is full", "4 reports wait in memory because the store accepts no reports"])
    #expect(
      findings.first { $0.subject == "losses" }?.sentence
        == "since crashd started: 3 processes whose rings could not be read. See crashd's log.")
  }

  @Test("doctor names the missing pod setting if processes attached from another pid namespace")
  func pidNamespace() throws {
    let daemon = try FakeDaemon { connection in
      while let call = connection.call() {
        let process = { (pid: Int, more: String) in
          #"{"pid":\#(pid),"uid":1000,"name":"shop","executable":"/srv/shop","buildID":"ab","startTime":"","#
            + #""attachTime":"","state":"running"\#(more)}"#
        }
        let claimed = #","isPIDClaimed":true"#
        connection.reply(
          call.contains("Processes")
            ? #"{"processes":[\#(process(4, "")),\#(process(7, claimed)),\#(process(9, claimed))]}"#
            : SampleJSON.status)
      }
    }
    defer { daemon.stop() }
    let findings = Doctor(client: CrashClient(socketPath: daemon.socketPath)).machine()
    let finding = try #require(findings.first { $0.subject == "pid namespace" })
    #expect(finding.level == .warning && finding.sentence.hasPrefix("'shop' and 1 more attached from another pid"))
    #expect(finding.remedy.contains("hostPID: true") && finding.remedy.contains("shareProcessNamespace: true"))
  }

  @Test("doctor distinguishes a process without the shield, with the shield, and with replaced handlers")
  func processes() throws {
    let all = "0000000040000cf8"  // SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGUSR1, SIGSEGV, SIGSYS
    #expect(try levels(caught: all, maps: "")["shield"] == .fault)
    #expect(try levels(caught: all, maps: "/memfd:crash-shield (deleted)")["shield"] == .warning)
    #expect(try levels(caught: all, maps: "/memfd:crash-shield (deleted)", attached: true)["shield"] == .good)
    #expect(try levels(caught: all, maps: "/memfd:crash-shield (deleted)")["handlers"] == .good)
    let findings = try findings(caught: "0000000000000c78", maps: "/memfd:crash-shield (deleted)")
    let handlers = try #require(findings.first { $0.subject == "handlers" })
    #expect(handlers.level == .fault)
    #expect(handlers.sentence == "SIGFPE, SIGSYS have no handler: such crashes are not captured")
  }

  @Test("for a process without the shield, the remedy names what prevented the start")
  func notStarted() throws {
    func remedy(_ environment: [String]) throws -> String? {
      let found = try findings(caught: "0", maps: "", environment: environment)
      return found.first { $0.subject == "shield" }?.remedy
    }
    #expect(try remedy([])?.contains("Shield.status.startError") == true)
    #expect(try remedy(["CRASHSHIELD_DISABLE=0", "A=1"])?.contains("Shield.status.startError") == true)
    #expect(try remedy(["A=1", "CRASHSHIELD_DISABLE=1"])?.hasPrefix("remove CRASHSHIELD_DISABLE") == true)
  }

  @Test("for a process whose memory map is not readable, doctor's verdict is unknown, unless it is attached")
  func notReadable() throws {
    func verdict(attached: Bool) throws -> (Finding.Level?, String) {
      let found = try findings(caught: "0000000000000cf8", maps: nil, attached: attached)
      let text = Finding.text([("process 42", found)], terminal: Terminal(width: nil, hasColor: false), all: true)
      return (found.first { $0.subject == "shield" }?.level, text)
    }
    let (level, text) = try verdict(attached: false)
    #expect(level == .unknown && text.hasPrefix("UNKNOWN: whether crashes will be captured is not visible"))
    #expect(text.contains("? shield"))
    #expect(try verdict(attached: true).0 == .good)
  }

  @Test("doctor warns of a CRASHSHIELD_CONTAINMENT that the shield ignores", arguments: ["on", "drain", "off", ""])
  func ignoredContainment(value: String) throws {
    let found = try findings(
      caught: "0000000000000cf8", maps: "/memfd:crash-shield (deleted)",
      environment: ["CRASHSHIELD_CONTAINMENT=\(value)"], attached: true)
    let finding = try #require(found.first { $0.subject == "containment" })
    let isIgnored = ["on", "drain"].contains(value)
    #expect(finding.level == (isIgnored ? .warning : .note))
    #expect(finding.sentence.contains("'\(value)'") == isIgnored && finding.remedy.isEmpty != isIgnored)
  }

  @Test("doctor warns of an enabled Swift backtracer")
  func backtracer() throws {
    #expect(try levels(environment: ["A=1", "SWIFT_BACKTRACE=color=no,enable=yes"])["backtracer"] == .warning)
    #expect(try levels(environment: ["SWIFT_BACKTRACE=enable=no"])["backtracer"] == nil)
    #expect(try levels(environment: [])["backtracer"] == nil)
  }

  @Test("doctor notes that alternate stacks cannot be checked, and warns when they are disabled")
  func alternateStacks() throws {
    #expect(try levels()["altstacks"] == .note)
    #expect(try levels(environment: ["CRASHSHIELD_ALTSTACKS=0"])["altstacks"] == .warning)
    #expect(try levels(maps: "", environment: ["CRASHSHIELD_ALTSTACKS=0"])["altstacks"] == nil)
  }

  @Test("doctor reports replaced handlers from the program's last crash, and prints a note without a crash")
  func takenOver() throws {
    #expect(LastCrashFacts(executable: nil, client: CrashClient(socketPath: "/nowhere/s")).handlers.level == .note)
    let taken =
      #""replacedHandlers":[{"signal":"SIGSEGV","kind":"handler","image":"/lib/gc.so","function":"f"},"#
      + #"{"signal":"SIGABRT","kind":"default","function":""}],"#
    for (more, level) in [(taken, Finding.Level.warning), ("", .note)] {
      let daemon = try FakeDaemon { connection in
        while let call = connection.call() {
          connection.reply(
            call.contains("Crashd.List")
              ? #"{"reports":[\#(SampleJSON.summary(id: "bb22", cursor: "1"))]}"#
              : #"{"report":\#(SampleJSON.report(id: "bb22", more: more))}"#)
        }
      }
      defer { daemon.stop() }
      let client = CrashClient(socketPath: daemon.socketPath)
      let facts = LastCrashFacts(executable: "/srv/shop", client: client)
      let finding = facts.handlers
      #expect(finding.level == level && finding.sentence.contains("at the program's last crash (bb22)"))
      #expect(finding.sentence.hasSuffix("SIGSEGV by /lib/gc.so, SIGABRT back to default") == (level == .warning))
      // /srv/sho is another program, although its path is a prefix of /srv/shop.
      #expect(!LastCrashFacts(executable: "/srv/sho", client: client).handlers.sentence.contains("bb22"))
      #expect(facts.requests == nil)
    }
  }

  @Test("doctor warns if the shield could not find requests at the program's last crash", arguments: [true, false])
  func requestLookup(isRefused: Bool) throws {
    let counts = #""requests":{"begun":1,"finished":0,"failed":0,"lost":1,"isLookupRefused":\#(isRefused)}"#
    let report = SampleJSON.report(id: "bb22").replacing(#""pid":4711,"#, with: #""pid":4711,\#(counts),"#)
    let daemon = try FakeDaemon { connection in
      while let call = connection.call() {
        connection.reply(
          call.contains("Crashd.List")
            ? #"{"reports":[\#(SampleJSON.summary(id: "bb22", cursor: "1"))]}"# : #"{"report":\#(report)}"#)
      }
    }
    defer { daemon.stop() }
    let facts = LastCrashFacts(executable: "/srv/shop", client: CrashClient(socketPath: daemon.socketPath))
    #expect(facts.handlers.sentence.contains("(bb22)"))
    #expect(facts.requests?.level == (isRefused ? .warning : nil))
  }

  @Test(
    "doctor states whether containment works in a process, or why it does not",
    arguments: [
      ("null", Finding.Level.note, "off: a Swift trap ends the process at once"),
      ("{\"mode\":\"drain\",\"budget\":0}", .good, "drain: after a trap, the other requests finish"),
      ("{\"mode\":\"contain\",\"budget\":20}", .good, "contain: 0 of 20 traps contained"),
      ("{\"mode\":\"contain\",\"budget\":3,\"contained\":3}", .note, "contain: 3 of 3 traps contained"),
      (
        "{\"mode\":\"contain\",\"budget\":3,\"obstacle\":\"hook\"}", .warning,
        "the program chose contain, but a trap ends the process at once: other code has replaced the global executor"
      ),
      (
        "{\"mode\":\"drain\",\"budget\":0,\"obstacle\":\"77\"}", .warning,
        "the program chose drain, but a trap ends the process at once: the process gave the reason 77"
      ),
      (
        "{\"mode\":\"contain\",\"budget\":3,\"isDraining\":true}", .warning,
        "the process is draining after a trap, and will end"
      ),
    ])
  func containment(json: String, level: Finding.Level, sentence: String) throws {
    var containment = json.dropLast()
    if !json.contains("contained") { containment += ",\"contained\":0" }
    if !json.contains("isDraining") { containment += ",\"isDraining\":false" }
    let member = json == "null" ? json : containment + "}"
    let summary = try JSONDecoder().decode(
      ProcessSummary.self,
      from: Data(
        """
        {"pid":7,"uid":0,"name":"shop","executable":"/srv/shop","buildID":"ab","startTime":"2026-11-21T08:00:00Z",
        "attachTime":"2026-11-21T08:00:00Z","state":"attached","containment":\(member)}
        """.utf8))
    let finding = Doctor.containment(of: summary)
    #expect(finding.level == level && finding.subject == "containment" && finding.sentence.hasPrefix(sentence))
    #expect(finding.remedy.isEmpty == !json.contains("obstacle"))
  }

  @Test("doctor accepts the spool modes that crashd sets, and reports others", arguments: [0o1733, 0o3733, 0o777, 0])
  func spool(mode: mode_t) throws {
    let scratch = try Scratch()
    defer { scratch.remove() }
    let doctor = Doctor(client: CrashClient(socketPath: scratch.path + "/s"))
    if mode == 0 {
      let missing = doctor.machine().first { $0.subject == "spool" }
      #expect(missing?.level == .fault && missing?.sentence.contains("are lost") == true)
      return
    }
    let path = scratch.path + "/spool"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    // Invariant: chmod() reads the path only during the call.
    #expect(unsafe chmod(path, mode) == 0)
    let finding = doctor.machine().first { $0.subject == "spool" }
    #expect(finding?.level == (mode == 0o777 ? .warning : .good), "\(finding?.sentence ?? "")")
  }

  @Test("D16: doctor reports symbols of a file without a build id as missing")
  func withoutBuildID() throws {
    let scratch = try Scratch()
    defer { scratch.remove() }
    let program = scratch.path + "/shop"
    let source = try CommandLineTests.product("crash-maker")
    let doctor = Doctor(client: CrashClient(socketPath: "/nowhere/s"))
    #expect(doctor.program(source).first { $0.subject == "symbols" }?.level == .good)
    try Self.run(["objcopy", "--remove-section=.note.gnu.build-id", source, program])
    let findings = doctor.program(program)
    #expect(findings.first { $0.subject == "build id" }?.level == .warning)
    let symbols = try #require(findings.first { $0.subject == "symbols" })
    #expect(symbols.level == .warning && symbols.sentence.contains("addresses instead of names"), "\(symbols.sentence)")
  }

  @Test("doctor finds debug files by build id in the same directories as crashd", arguments: ["", ".debug/"])
  func debugFiles(folder: String) throws {
    let scratch = try Scratch()
    defer { scratch.remove() }
    let doctor = Doctor(client: CrashClient(socketPath: "/nowhere/s"))
    let (program, debug) = (scratch.path + "/shop", scratch.path + "/\(folder)shop.debug")
    let source = try CommandLineTests.product("crash-maker")
    try FileManager.default.createDirectory(atPath: scratch.path + "/.debug", withIntermediateDirectories: false)
    try Self.run(["objcopy", "--only-keep-debug", source, debug])
    try Self.run(["objcopy", "--strip-all", "--add-gnu-debuglink=\(debug)", source, program])
    let found = try #require(doctor.program(program).first { $0.subject == "symbols" })
    #expect(found.level == .good && found.sentence == "functions, files and lines from '\(debug)'")
    // Give the debug file the build ID of another program.
    try Self.run(["objcopy", "--only-keep-debug", try CommandLineTests.product("crashctl"), debug])
    #expect(doctor.program(program).first { $0.subject == "symbols" }?.level == .warning)
  }

  private static func run(_ words: [String]) throws {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = words
    try process.run()
    process.waitUntilExit()
    try #require(process.terminationStatus == 0)
  }

  @Test("doctor has no findings about a process that does not exist")
  func noProcess() {
    let doctor = Doctor(client: CrashClient(socketPath: "/nowhere/s"), system: "/nowhere")
    #expect(doctor.process(1) == nil)
  }

  @Test("doctor finds unwind tables and debug information in crash-maker, but not in a text file")
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

  @Test("doctor rejects an ELF file whose section table has wrong offsets")
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

  @Test("doctor exits with 1 on a fault and prints what to do")
  func commandLine() throws {
    let result = try CommandLineTests.crashctl(["doctor"], environment: ["CRASHD_SOCKET": "/nowhere/s"])
    #expect(result.status == 1)
    #expect(result.complaint.isEmpty)
    #expect(result.output.contains("✗ crashd"))
    #expect(result.output.contains("start crashd.socket"))
    #expect(result.output.contains("✓ guards"))
  }

  // MARK: A process as /proc shows it

  private func levels(
    caught: String = "0000000040000cf8", maps: String = "/memfd:crash-shield (deleted)", environment: [String] = [],
    attached: Bool = false
  ) throws -> [String: Finding.Level] {
    let found = try findings(caught: caught, maps: maps, environment: environment, attached: attached)
    return Dictionary(found.map { ($0.subject, $0.level) }, uniquingKeysWith: { first, _ in first })
  }

  @Test(
    "doctor names the setting that keeps a process's memory out of reports",
    arguments: [
      ("full", nil), ("scrubbed", nil), ("none", "the program"), ("withheld", "privacy.no-memory"),
      ("discarded", "privacy.no-memory"), ("of a later version", nil),
    ] as [(String, String?)])
  func memory(word: String, text: String?) throws {
    let found = try findings(
      caught: "0000000000000cf8", maps: "/memfd:crash-shield (deleted)", attached: true, memory: word)
    let memory = found.filter { $0.subject == "memory" }
    #expect(memory.count == (text == nil ? 0 : 1))
    if let text { #expect(memory.first?.sentence.contains(text) == true && memory.first?.level == .note) }
  }

  @Test("doctor reports a process's guard self-test: all absorbed, some kinds failed, or not run")
  func processGuards() throws {
    func guards(_ more: String) throws -> Finding {
      let found = try findings(
        caught: "0000000000000cf8", maps: "/memfd:crash-shield (deleted)", attached: true, more: more
      )
      .filter { $0.subject == "guards" }
      #expect(found.count == 1)
      return try #require(found.first)
    }
    func told(_ failing: String, checks: Int = 9, failures: Int) -> String {
      #","selfTest":{"asked":["index","range"],"failing":[\#(failing)],"checks":\#(checks),"#
        + #""failures":\#(failures),"time":"then"}"#
    }
    let good = try guards(told("", failures: 0))
    #expect(good == Finding(.good, "guards", "self-test passed at then (9 checks of 2 kinds)"))
    let failing = try guards(told(#""range","63""#, failures: 3))
    #expect(failing.level == .warning && failing.sentence == "3 of 9 checks failed at then: range, 63")
    #expect(!failing.remedy.isEmpty)
    #expect(try guards(told("", checks: 0, failures: 0)).level == .note)
    let silent = try guards("")
    #expect(silent.level == .note && silent.remedy.contains("Shield.selfTest()"))
    #expect(try guards(#","selfTest":null"#) == silent)
    // Without data from crashd, the process is not attached, and doctor reports nothing about guards.
    #expect(try levels()["guards"] == nil)
  }

  @Test("doctor reports the guard self-test of its own process, and names failing kinds")
  func ownGuards() throws {
    func guards(_ results: [ShieldCheck.Result]) throws -> Finding {
      let doctor = Doctor(client: CrashClient(socketPath: "/nowhere/s"), guards: results)
      return try #require(doctor.machine().last { $0.subject == "guards" })
    }
    let results = [
      ShieldCheck.Result(kind: .index, check: "behind the end", verdict: .absorbs),
      ShieldCheck.Result(kind: .index, check: "before the start", verdict: .absorbs),
      ShieldCheck.Result(kind: .pipe, check: "", verdict: .notAsked("a reason")),
    ]
    let good = try guards(results)
    #expect(good.level == .good && good.sentence.hasPrefix("self-test passed (2 checks of 1 kinds)"))
    let broken = ShieldCheck.Result(kind: .range, check: "too long", verdict: .fails("recorded as nothing"))
    let bad = try guards(results + [broken])
    #expect(bad.level == .warning && bad.sentence.hasPrefix("1 of 3 checks fail in crashctl"))
    #expect(bad.sentence.hasSuffix(": range, too long: recorded as nothing") && !bad.remedy.isEmpty)
    #expect(try guards([]).level == .warning)
    #expect(Doctor(client: CrashClient(socketPath: "/nowhere/s")).machine().allSatisfy { $0.subject != "guards" })
  }

  private func findings(
    caught: String, maps: String?, environment: [String] = [], attached: Bool = false, memory: String = "scrubbed",
    more: String = ""
  ) throws -> [Finding] {
    let scratch = try Scratch()
    defer { scratch.remove() }
    try FileManager.default.createDirectory(atPath: scratch.path + "/42", withIntermediateDirectories: false)
    let status = "Name:\tshop\nUid:\t1000\t1000\t1000\t1000\nSigIgn:\t0000000000001000\nSigCgt:\t\(caught)\n"
    _ = try scratch.write("42/status", Array(status.utf8))
    if let maps { _ = try scratch.write("42/maps", Array("7f00-7f01 rw-s 00000000 00:01 7 \(maps)\n".utf8)) }
    _ = try scratch.write("42/environ", Array(environment.joined(separator: "\0").utf8))
    let daemon = try FakeDaemon { connection in
      while connection.call() != nil {
        let process =
          #"{"pid":42,"uid":1000,"name":"shop","executable":"/srv/shop","buildID":"ab","startTime":"","attachTime":"","#
          + #""state":"running","memory":"\#(memory)"\#(more)}"#
        connection.reply(#"{"processes":[\#(attached ? process : "")]}"#)
      }
    }
    defer { daemon.stop() }
    let doctor = Doctor(client: CrashClient(socketPath: daemon.socketPath), system: scratch.path)
    return try #require(doctor.process(42))
  }
}

/// A directory that belongs to one test.
struct Scratch {
  let path = "/tmp/cs-doctor-\(UUID().uuidString.prefix(8))"

  init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false) }

  func write(_ name: String, _ bytes: [UInt8]) throws -> String {
    try Data(bytes).write(to: URL(filePath: "\(path)/\(name)"))
    return "\(path)/\(name)"
  }

  func remove() { try? FileManager.default.removeItem(atPath: path) }
}
