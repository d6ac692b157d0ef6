import CrashClient
import CrashControl
import CrashProtocol
import CrashReport
import Foundation
import Synchronization
import TestKit
import Testing

@Suite("crashctl prune, reanalyze --all, debug and top")
struct LongWorkTests {
  /// A simulated crashd with two reports and 2,053 old reports.
  ///
  /// One of the two reports gets another diagnosis when crashd analyzes it again.
  private func daemon() throws -> FakeDaemon {
    let calls = Mutex(0)
    return try FakeDaemon { connection in
      while let call = connection.call() {
        if call.contains("Crashd.Prune") {
          let number = calls.withLock { calls in
            calls += 1
            return calls
          }
          #expect(call.contains(#""limit":1024"#))
          connection.reply(#"{"removed":\#(number < 3 ? 1_024 : 5)}"#)
        } else if call.contains("Crashd.List") {
          let all = [SampleJSON.summary(id: "bb22", cursor: "2"), SampleJSON.summary(id: "aa11", cursor: "1")]
          let page = call.contains(#""before""#) ? [] : all
          connection.reply(#"{"reports":[\#(page.joined(separator: ","))]}"#)
        } else if call.contains("Crashd.Reanalyse") {
          let isKnown = call.contains("bb22")
          connection.reply(
            isKnown ? #"{"report":\#(SampleJSON.report(id: "bb22")),"changed":true}"# : #"{"reason":"no record"}"#,
            error: isKnown ? nil : "io.crashshield.Crashd.NotReanalysable")
        } else if call.contains("Crashd.Status") {
          connection.reply(SampleJSON.status)
        } else if call.contains("Crashd.Groups") {
          connection.reply(#"{"groups":[\#(SampleJSON.group)]}"#)
        } else {
          connection.reply(#"{"report":\#(SampleJSON.report(id: "bb22"))}"#)
        }
      }
    }
  }

  private func crashctl(_ arguments: [String]) throws -> CommandLineTests.Result {
    let daemon = try daemon()
    defer { daemon.stop() }
    return try CommandLineTests.crashctl(arguments + ["--socket", daemon.socketPath])
  }

  @Test("prune removes reports in batches until a batch is not full")
  func prune() throws {
    let result = try crashctl(["prune", "--older-than", "7d"])
    #expect(result.output == "removed 2053 reports\n" && result.complaint.isEmpty)
  }

  @Test("reanalyze --all lists changed reports and counts those that cannot be analyzed")
  func reanalyze() throws {
    let result = try crashctl(["reanalyze", "--all"])
    #expect(result.status == 0)
    #expect(result.output == "report bb22 changed: An index was out of range in checkout().\n")
    #expect(
      result.complaint == """
        crashctl: 2 analyzed again: 1 changed; 1 were removed, or their records were

        """)
    for wrong in [["--all", "bb"], ["-n", "3"], ["bb", "--signal", "segv"]] {
      #expect(try crashctl(["reanalyze"] + wrong).status == 2)
    }
  }

  @Test("if the executable on disk is of another build, debug prints this and passes only the core to the debugger")
  func debug() throws {
    // /bin/echo stands for the debugger, and /bin/true for the core file: crashctl only needs existing files.
    let words = try crashctl(["debug", "bb", "--debugger", "/bin/echo", "--core", "/bin/true"])
    #expect(words.status == 0 && words.output == "-c /bin/true\n")
    #expect(words.complaint.hasPrefix("crashctl: '/srv/shop' is not the build that crashed"))
    let failing = try crashctl(["debug", "--debugger", "/bin/false", "--core", "/bin/true"])
    #expect(failing.status == 1)
    let nowhere = try crashctl(["debug", "--core", "/nowhere/core"])
    #expect(nowhere.status == 1 && nowhere.complaint.hasPrefix("crashctl: cannot read '/nowhere/core' ("))
    let missing = try crashctl(["debug", "--core", "/bin/true", "--debugger", "/nowhere/gdb"])
    #expect(missing.status == 1 && missing.complaint.hasPrefix("crashctl: there is no /nowhere/gdb"))
  }

  private func report() throws -> CrashReport {
    var report = try JSONDecoder().decode(CrashReport.self, from: Data(SampleJSON.report(id: "bb22").utf8))
    report.time = "2026-11-21T08:10:11.000123Z"
    return report
  }

  @Test("crashctl finds a core by the kernel's core_pattern, and uses the first core after the crash")
  func core() throws {
    let directory = "/tmp/cs-core-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let crash = try #require(ISO8601DateFormatter().date(from: "2026-11-21T08:10:11Z"))
    for (name, age) in [
      ("core.shop.4711.host.1", -60.0), ("core.shop.4711.host.2", 1), ("core.shop.4711.host.3", 600),
      ("core.shop.47110.host.2", 0), ("core-!srv!shop-1000-4", 2), ("core.9.4711", 5), ("empty.4711", 5),
    ] {
      let path = "\(directory)/\(name)"
      try Data(name.hasPrefix("empty") ? "".utf8 : "core".utf8).write(to: URL(filePath: path))
      try FileManager.default.setAttributes([.modificationDate: crash.addingTimeInterval(age)], ofItemAtPath: path)
    }
    for (pattern, addsPid, name) in [
      ("core.%e.%p.%h.%t\n", true, "core.shop.4711.host.2"), ("core-%E-%u-%s", false, "core-!srv!shop-1000-4"),
      ("core.%I", true, "core.9.4711"), ("core.%e.%P.%h.%t", false, "core.shop.4711.host.2"),
    ] {
      let found = CoreFile.find(of: try report(), pattern: "\(directory)/\(pattern)", addsPid: addsPid)
      #expect(found == .file("\(directory)/\(name)"), "\(pattern): \(found)")
    }
    for (pattern, addsPid) in [("empty.%p", false), ("nothing", true), ("core.%%p", false), ("core.%p", false)] {
      let found = CoreFile.find(of: try report(), pattern: "\(directory)/\(pattern)", addsPid: addsPid)
      guard case .none(let reason) = found else {
        Issue.record("\(pattern): \(found)")
        continue
      }
      #expect(reason.hasPrefix("there is no '"))
    }
  }

  private func leaveCore(at path: String) throws {
    let crash = try #require(ISO8601DateFormatter().date(from: "2026-11-21T08:10:11Z"))
    try Data("core".utf8).write(to: URL(filePath: path))
    try FileManager.default.setAttributes([.modificationDate: crash.addingTimeInterval(1)], ofItemAtPath: path)
  }

  @Test(
    "F1: a core with a name that lldb would read as commands is not passed to lldb",
    arguments: ["x\nplatform shell id\n", "a`id`", "a\"b", "a'b", "a\\", "a$x", "a\u{1b}b"])
  func coreName(name: String) throws {
    let directory = "/tmp/cs-core-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    try leaveCore(at: "\(directory)/core.\(name).4711")
    let find = { CoreFile.find(of: try report(), pattern: "\(directory)/core.%e.%p", addsPid: false) }
    guard case .none(let reason) = try find() else {
      Issue.record("the core's name is an argument")
      return
    }
    #expect(reason == "its file in '\(directory)' has characters that a debugger may take for commands")
    // In the same directory, a core file whose name has no such characters is found.
    try leaveCore(at: "\(directory)/core.shop.4711")
    #expect(try find() == .file("\(directory)/core.shop.4711"))
  }

  @Test("F1: a core of another user is not used as the process's core", .enabled(if: geteuid() == 0))
  func coreOwner() throws {
    let directory = "/tmp/cs-core-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let path = "\(directory)/core.shop.4711"
    try leaveCore(at: path)
    let uid = UInt32(try report().process.uid)
    for (owner, isFound) in [(uid, true), (0, true), (uid + 1, false)] {
      #expect(unsafe chown(path, owner, owner) == 0)
      let found = CoreFile.find(of: try report(), pattern: "\(directory)/core.%e.%p", addsPid: false)
      #expect((found == .file(path)) == isFound, "\(owner): \(found)")
    }
  }

  @Test(
    "debug prints why it cannot search for a core",
    arguments: [
      ("|/lib/systemd/systemd-coredump %P %u", nil), ("|/usr/bin/apport %p", "the handler '/usr/bin/apport'"),
      ("core", "to the process's directory"), ("", "as 'core' to"), ("/cores/%h/core", "differs for each"),
      ("|", "the handler ''"), ("%", "as '%' to"),
      ("/proc/version/core.%p", "'/proc/version': Not a directory"),
      ("/proc/self/nothing/core", "'/proc/self/nothing': No such file or directory"),
    ])
  func noCore(pattern: String, reason: String?) throws {
    let found = CoreFile.find(of: try report(), pattern: pattern, addsPid: false)
    switch found {
    case .none(let said): #expect(reason.map { said.contains($0) } == true, "\(said)")
    case .systemd: #expect(reason == nil)
    case .file: Issue.record("\(found)")
    }
  }

  @Test("top shows counts and the newest crashes, and fits the height of the terminal", arguments: [6, 12, 24, nil])
  func top(rows: Int?) throws {
    var status = try JSONDecoder().decode(DaemonStatus.self, from: Data(SampleJSON.status.utf8))
    status.trouble = ["the disk\u{1b}[2J is full"]
    let group = try JSONDecoder().decode(ReportGroup.self, from: Data(SampleJSON.group.utf8))
    let summary = try JSONDecoder().decode(
      ReportSummary.self, from: Data(SampleJSON.summary(id: "bb22", cursor: "2").utf8))
    let text = TopText(
      status: status, groups: Array(repeating: group, count: 30), reports: Array(repeating: summary, count: 50),
      period: "in the last hour"
    ).text(Terminal(width: 90, hasColor: false), rows: rows)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
    #expect(rows.map { lines.count <= $0 } ?? (lines.count > 30))
    #expect(lines.contains { $0.hasPrefix("90 crashes of 30 kinds in the last hour") })
    #expect(text.contains("DEGRADED: see crashctl status"))
    #expect(lines.allSatisfy { $0.count <= 90 } && !text.contains("\u{1b}"))
    if rows ?? 24 >= 24 { #expect(text.contains("bb22") && text.contains("trap in shop.buy()")) }
  }

  @Test("top prints its tables only once with --once or without a terminal")
  func topOnce() throws {
    let once = try crashctl(["top", "--once"])
    #expect(once.status == 0 && once.output.contains("3 crashes of 1 kind in the last hour"))
    let live = try crashctl(["top"])
    #expect(live.status == 2 && live.output.isEmpty)
    #expect(live.complaint == "crashctl: top is for a terminal: see --once, or crashctl groups\n")
  }
}
