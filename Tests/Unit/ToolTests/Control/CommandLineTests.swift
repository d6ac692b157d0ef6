import CrashControl
import Foundation
import TestKit
import Testing

/// Tests the built crashctl as a user runs it.
@Suite("crashctl")
struct CommandLineTests {
  struct Result {
    var status: Int32
    var isSignal: Bool
    var output: String
    var complaint: String
  }

  /// Returns the path of a built program in the directory of the test bundle.
  static func product(_ name: String) throws -> String {
    let runner = URL(filePath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
    return runner.deletingLastPathComponent().appending(path: name).path
  }

  /// Runs crashctl.
  ///
  /// The process gets only the variables in `environment`.
  ///
  /// Calls `afterFirstLine` with the pid when crashctl has printed its first line. At this time, the input of crashctl
  /// is still open.
  static func crashctl(
    _ arguments: [String], environment: [String: String] = [:], input: String = "",
    afterFirstLine: ((pid_t) -> Void)? = nil
  ) throws -> Result {
    let process = Process()
    process.executableURL = URL(filePath: try product("crashctl"))
    process.arguments = arguments
    process.environment = ["PATH": "/usr/bin:/bin"].merging(environment) { $1 }
    let output = Pipe()
    let complaint = Pipe()
    let typed = Pipe()
    process.standardInput = typed
    process.standardOutput = output
    process.standardError = complaint
    try runUnblocked(process)
    // After 300 seconds, the test kills a crashctl that hangs. This closes its pipes, so the test fails and does not
    // hang.
    let pid = process.processIdentifier
    let watchdog = DispatchWorkItem { kill(pid, SIGKILL) }
    DispatchQueue.global().asyncAfter(deadline: .now() + 300, execute: watchdog)
    defer { watchdog.cancel() }
    // The write cannot block, because the input fits into the buffer of the pipe.
    try typed.fileHandleForWriting.write(contentsOf: Data(input.utf8))
    if let afterFirstLine {
      while let byte = try output.fileHandleForReading.read(upToCount: 1), byte != Data("\n".utf8) {}
      afterFirstLine(pid)
    } else {
      try typed.fileHandleForWriting.close()
    }
    // The test can read one output after the other, because both fit into the buffers of their pipes.
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    let words = String(decoding: complaint.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    if afterFirstLine != nil { try typed.fileHandleForWriting.close() }
    return Result(
      status: process.terminationStatus, isSignal: process.terminationReason == .uncaughtSignal, output: text,
      complaint: words)
  }

  /// Starts the process with an empty signal mask.
  ///
  /// The process would otherwise inherit the mask of the test's thread, a thread of Dispatch, which blocks most
  /// signals.
  static func runUnblocked(_ process: Process) throws {
    var nothing = sigset_t()
    var before = sigset_t()
    // Invariant: the calls do not keep the pointers. The thread restores its signal mask directly after it has started
    // the process.
    unsafe sigemptyset(&nothing)
    unsafe pthread_sigmask(SIG_SETMASK, &nothing, &before)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
    try process.run()
  }

  /// A simulated crashd with two reports.
  ///
  /// It answers every call.
  static func daemon() throws -> FakeDaemon {
    try FakeDaemon { connection in
      while let call = connection.call() {
        if call.contains("Crashd.List") {
          let isFirst = !call.contains(#""before""#) && !call.contains(#""zz"#)
          let all = [SampleJSON.summary(id: "bb22", cursor: "2"), SampleJSON.summary(id: "aa11", cursor: "1")]
          connection.reply(#"{"reports":[\#(isFirst ? all.joined(separator: ",") : "")]}"#)
        } else if call.contains("Crashd.Groups") {
          let group = SampleJSON.group
          connection.reply(call.contains(#""name":"none""#) ? #"{"groups":[]}"# : #"{"groups":[\#(group)]}"#)
        } else if call.contains("Crashd.GetGroup") {
          let builds = #"[{"build":"aabb","count":2,"first":"2026-11-20T08:00:00Z","last":"2026-11-21T09:00:00Z"}]"#
          let days = #"[{"date":"2026-11-21","count":2},{"date":"2026-11-20","count":1}]"#
          connection.reply(#"{"groups":[\#(SampleJSON.group)],"builds":\#(builds),"days":\#(days)}"#)
        } else if call.contains("Crashd.ContrastGroup") {
          connection.reply(SampleJSON.contrast)
        } else if call.contains("Crashd.ResolveGroup") {
          let isKnown = call.contains(#""key":"71""#)
          connection.reply(
            isKnown ? #"{"key":"71c0ffee71c0ffee"}"# : #"{"key":"zz"}"#,
            error: isKnown ? nil : "io.crashshield.Crashd.NoSuchGroup")
        } else if call.contains("Crashd.Explain") {
          connection.reply(SampleJSON.explanation)
        } else if call.contains("Crashd.Get") {
          let isKnown = !call.contains("zz")
          connection.reply(
            isKnown ? #"{"report":\#(SampleJSON.report(id: "bb22"))}"# : #"{"id":"zz"}"#,
            error: isKnown ? nil : "io.crashshield.Crashd.NoSuchReport")
        } else if call.contains("Crashd.Metrics") {
          connection.reply(#"{"text":"crashd_reports 2\n# EOF\n"}"#)
        } else if call.contains("Crashd.Status") {
          connection.reply(SampleJSON.status)
        } else if call.contains("Crashd.Subscribe") {
          connection.reply(#"{"ready":true}"#, continues: true)
          connection.reply(#"{"cursor":"2","report":\#(SampleJSON.report(id: "bb22"))}"#, continues: true)
          return
        } else {
          connection.reply(#"{"processes":[]}"#)
        }
      }
    }
  }

  @Test(
    "without crashd each verb prints one line that states this, and exits with 3",
    arguments: [[], ["list"], ["show"], ["show", "ab"], ["status"], ["processes"], ["follow"], ["--json=short"]])
  func unreachable(arguments: [String]) throws {
    let result = try Self.crashctl(arguments, environment: ["CRASHD_SOCKET": "/nowhere/s"])
    #expect(result.status == 3)
    #expect(result.output.isEmpty)
    #expect(
      result.complaint == """
        crashctl: no crashd at '/nowhere/s' (No such file or directory): start crashd.socket, or name its socket \
        with --socket or CRASHD_SOCKET

        """)
  }

  @Test(
    "a wrong command line prints one line, and exits with 2",
    arguments: [
      ["bogus"], ["list", "-n", "0"], ["list", "-S", "soon"], ["--json=xml"], ["show", "a", "b"], ["run"],
      ["run", "--kep"], ["run", "--"], ["list", "-x1"],
    ])
  func usage(arguments: [String]) throws {
    let result = try Self.crashctl(arguments)
    #expect(result.status == 2)
    #expect(result.output.isEmpty)
    #expect(result.complaint.hasPrefix("crashctl: "))
    #expect(result.complaint.split(separator: "\n").count == 1, "\(result.complaint)")
    #expect(!result.complaint.contains(".;") && !result.complaint.contains("␊"))
  }

  @Test(
    "the value of --since or --until may start with a minus sign",
    arguments: [["-S", "-2h"], ["--until", "-1d"], ["--since=-5min"], ["-S-2h", "-n1"]])
  func negativeTime(arguments: [String]) throws {
    let daemon = try Self.daemon()
    defer { daemon.stop() }
    let result = try Self.crashctl(["list"] + arguments, environment: ["CRASHD_SOCKET": daemon.socketPath])
    #expect(result.status == 0, "\(result.complaint)")
  }

  @Test("a verb after options is an error that asks to put the verb first")
  func verbLast() throws {
    let result = try Self.crashctl(["--socket", "/nowhere/s", "show"])
    #expect(result.status == 2)
    #expect(
      result.complaint
        == "crashctl: unexpected argument 'show'; options follow the verb: crashctl show OPTIONS\n")
  }

  @Test(
    "the error for a mistyped verb suggests the nearest verb if one is similar",
    arguments: [
      (["shw"], "unknown command 'shw'; did you mean 'show'? see crashctl --help"),
      (["expalin", "7f"], "unknown command 'expalin'; did you mean 'explain'? see crashctl --help"),
      (["something-else"], "unknown command 'something-else'; see crashctl --help"),
      // The suggestion for `rn` is `run`, not `rm`: crashctl never suggests a verb that removes reports.
      (["ps"], "unknown command 'ps'; did you mean 'processes'? see crashctl --help"),
      (["rn"], "unknown command 'rn'; did you mean 'run'? see crashctl --help"),
      (["prunee"], "unknown command 'prunee'; see crashctl --help"),
      (
        ["groups", "shw", "c850"],
        "2 unexpected arguments: 'shw', 'c850'; did you mean 'show'? see crashctl groups --help"
      ),
      (["list", "--unknown"], "unknown option '--unknown'; see crashctl list --help"),
      (["list", "-n", "-5"], "invalid value '-5' for -n: it takes no negative number; see crashctl list --help"),
      (["list", "-n", "-r"], "missing value for '-n'; see crashctl list --help"),
      (
        ["incidents", "--source", "pool"],
        "the value 'pool' is invalid for '--source <part>': it is one of quarantine, pages, guard, isolated; "
          + "see crashctl incidents --help"
      ),
    ])
  func mistyped(arguments: [String], complaint: String) throws {
    let result = try Self.crashctl(arguments)
    #expect(result.status == 2)
    #expect(result.complaint == "crashctl: \(complaint)\n")
  }

  @Test("JSON can be requested with --json=short, with -j, or with --json without a value")
  func briefJSON() throws {
    let daemon = try Self.daemon()
    defer { daemon.stop() }
    let environment = ["CRASHD_SOCKET": daemon.socketPath]
    let short = try Self.crashctl(["list", "--json=short"], environment: environment).output
    let pretty = try Self.crashctl(["list", "--json=pretty"], environment: environment).output
    #expect(try Self.crashctl(["list", "-j"], environment: environment).output == short)
    #expect(try Self.crashctl(["show", "--json", "bb22"], environment: environment).output.hasPrefix("{\n"))
    #expect(try Self.crashctl(["list", "--json"], environment: environment).output == pretty)
    #expect(try Self.crashctl(["list", "--json", "short"], environment: environment).output == short)
    let empty = try Self.crashctl(["processes", "--json=pretty"], environment: environment)
    #expect(empty.output == "[]\n")
  }

  @Test("crashctl prints times in the local zone, with its name, or in UTC")
  func zones() throws {
    let daemon = try Self.daemon()
    defer { daemon.stop() }
    let environment = ["CRASHD_SOCKET": daemon.socketPath, "TZ": "<+03>-3"]
    let local = try Self.crashctl(["list", "--no-legend", "-n1"], environment: environment).output
    #expect(local.hasPrefix("2026-11-21 11:10:11 +03 "), "\(local)")
    let utc = try Self.crashctl(["list", "--no-legend", "-n1", "--utc"], environment: environment).output
    #expect(utc.hasPrefix("2026-11-21 08:10:11 UTC "), "\(utc)")
    let shown = try Self.crashctl(["show"], environment: environment).output
    #expect(shown.contains("Crashed  2026-11-21 11:10:11.000123 +03\n"), "\(shown)")
    let page = try Self.crashctl(["show", "--format", "html"], environment: environment).output
    #expect(page.contains(#"<time datetime="2026-11-21T08:10:11.000123Z">2026-11-21 11:10:11.000123 +03</time>"#))
    #expect(try Self.crashctl(["show", "--json=short"], environment: environment).output.contains("T08:10:11.000123Z"))
  }

  @Test("dump determines the format by the file's extension, and prints a note if the extension is unknown")
  func extensions() throws {
    let daemon = try Self.daemon()
    defer { daemon.stop() }
    for (name, start) in [
      ("a.html", "<!DOCTYPE html>"), ("a.txt", "An index was"), ("a.crash", "Incident Identifier:"), ("a.json", "{"),
      ("a.dmp", "MDMP"), ("a.old", "{"),
    ] {
      let path = "/tmp/cs-dump-\(UUID().uuidString.prefix(8))-\(name)"
      defer { try? FileManager.default.removeItem(atPath: path) }
      let result = try Self.crashctl(["dump", "-o", path, "--socket", daemon.socketPath])
      #expect(result.status == 0 && result.complaint.isEmpty == (name != "a.old"), "\(result.complaint)")
      let bytes = try #require(FileManager.default.contents(atPath: path))
      #expect(String(decoding: bytes, as: UTF8.self).hasPrefix(start), "\(name)")
    }
  }

  @Test("list prints all pages, newest last, and -r reverses the order")
  func list() throws {
    let daemon = try Self.daemon()
    defer { daemon.stop() }
    let result = try Self.crashctl(["--socket", daemon.socketPath, "--no-legend"])
    #expect(result.status == 0)
    #expect(result.output.split(separator: "\n").map { $0.contains("bb22") } == [false, true])
    let turned = try Self.crashctl(["list", "-r", "--no-legend"], environment: ["CRASHD_SOCKET": daemon.socketPath])
    #expect(turned.output.split(separator: "\n").map { $0.contains("bb22") } == [true, false])
    let json = try Self.crashctl(["--socket", daemon.socketPath, "--json=short"])
    #expect(json.output.hasPrefix("[{") && json.output.hasSuffix("}]\n"))
  }

  @Test("list takes a pid, program, unit, path or group, and prints only ids with -q")
  func match() throws {
    let daemon = try Self.daemon()
    defer { daemon.stop() }
    let environment = ["CRASHD_SOCKET": daemon.socketPath]
    let ids = try Self.crashctl(["list", "shop", "-q"], environment: environment)
    #expect(ids.output == "aa11\nbb22\n", "\(ids.complaint)")
    let missing = try Self.crashctl(["list", "zz"], environment: environment)
    #expect(missing.status == 1 && missing.complaint.hasPrefix("crashctl: no crash matches 'zz'"))
    // A verb after options is an error, and is not used as a search word.
    let misplaced = try Self.crashctl(["--json=short", "show"], environment: environment)
    #expect(misplaced.status == 2 && misplaced.complaint.contains("options follow the verb"))
  }

  @Test("export writes one line of JSON per report, as stored; metrics prints the metrics text")
  func exportAndMetrics() throws {
    let daemon = try Self.daemon()
    defer { daemon.stop() }
    let export = try Self.crashctl(["export", "--socket", daemon.socketPath])
    #expect(export.status == 0 && export.complaint.isEmpty)
    let lines = export.output.split(separator: "\n")
    #expect(lines.count == 2 && lines.allSatisfy { $0.hasPrefix("{") && $0.contains(#""id":"bb22""#) }, "\(lines)")
    let metrics = try Self.crashctl(["metrics", "--socket", daemon.socketPath])
    #expect(metrics.status == 0 && metrics.output == "crashd_reports 2\n# EOF\n")
  }

  @Test("explain lists the rules with their evidence, and the rules that apply first")
  func explain() throws {
    let daemon = try Self.daemon()
    defer { daemon.stop() }
    let result = try Self.crashctl(["explain", "bb22", "--socket", daemon.socketPath])
    #expect(result.status == 0)
    #expect(
      result.output == """
        report bb22: An index was out of range in checkout().

        ▶ applies  swift-fatal-error  swift-fatal-error, confidence 100 %
                   says: Swift stopped the program: Index out of range
                   saw:  SIGILL, si_code 2 (ILL_ILLOPN)
                   saw:  Swift's message: 'Index out of range'

        1 rule does not apply: see --all

        """)
    let all = try Self.crashctl(["explain", "bb22", "--all", "--socket", daemon.socketPath])
    #expect(all.output.hasSuffix("\n  does not apply  null-pointer\n           saw:  si_addr 0x0\n"), "\(all.output)")
    let json = try Self.crashctl(["explain", "--json=short", "--socket", daemon.socketPath])
    #expect(json.output.hasPrefix(#"{"id":"bb22","rules":[{"applies":true,"#))
  }

  @Test("show prints a report, and exits with 1 for an unknown id")
  func show() throws {
    let daemon = try Self.daemon()
    defer { daemon.stop() }
    let shown = try Self.crashctl(["show", "--socket", daemon.socketPath])
    #expect(shown.status == 0)
    #expect(shown.output.contains("An index was out of range in checkout()."))
    let missing = try Self.crashctl(["show", "zz", "--socket", daemon.socketPath])
    #expect(missing.status == 1)
    #expect(
      missing.complaint == "crashctl: no report has the id, pid, program, unit or group 'zz': see crashctl list\n")
  }

  @Test("groups lists the groups; resolve and reopen print the group's new state")
  func groups() throws {
    let daemon = try Self.daemon()
    defer { daemon.stop() }
    let environment = ["CRASHD_SOCKET": daemon.socketPath]
    let listed = try Self.crashctl(["groups", "--no-legend"], environment: environment)
    #expect(listed.status == 0, "\(listed.complaint)")
    #expect(listed.output.contains("regressed") && listed.output.contains("trap in shop.buy()"))
    let none = try Self.crashctl(["groups", "--name", "none"], environment: environment)
    #expect(none.status == 1 && none.complaint.hasPrefix("crashctl: no crash matches"))
    let resolved = try Self.crashctl(["groups", "resolve", "71"], environment: environment)
    #expect(resolved.output == "group 71c0ffee71c0ffee is resolved\n")
    let reopened = try Self.crashctl(["groups", "reopen", "71"], environment: environment)
    #expect(reopened.output == "group 71c0ffee71c0ffee is open\n")
    let detail = try Self.crashctl(["groups", "show", "71", "--utc"], environment: environment)
    #expect(detail.status == 0 && detail.output.hasPrefix("trap in shop.buy()\n"), "\(detail.complaint)")
    #expect(
      detail.output.contains("aabb      2") && detail.output.contains("▄█  2026-11-20 to 2026-11-21"),
      "\(detail.output)")
    #expect(detail.output.contains("The newest report\n\nAn index was out of range in checkout()."))
    #expect(!detail.output.contains("What sets the group apart"))
    let apart = try Self.crashctl(["groups", "show", "71", "--contrast"], environment: environment)
    #expect(apart.status == 0 && apart.output.contains("tag zone b␛[31m  90 %"), "\(apart.output)")
    let json = try Self.crashctl(["groups", "show", "71", "--contrast", "--json"], environment: environment)
    #expect(json.status == 0 && json.output.contains(#""contrast""#) && json.output.contains(#""builds""#))
    let odd = try Self.crashctl(["groups", "--state", "bad"], environment: environment)
    #expect(odd.status == 2 && odd.complaint.contains("invalid state 'bad'"), "\(odd.complaint)")
    let sorted = try Self.crashctl(["groups", "--sort", "count", "--state", "new,regressed"], environment: environment)
    #expect(sorted.status == 0)
    let missing = try Self.crashctl(["groups", "resolve", "zz"], environment: environment)
    #expect(missing.status == 1)
    #expect(
      missing.complaint
        == "crashctl: no group, or more than one, has a key that begins with 'zz': see crashctl groups\n")
  }

  @Test("varlink call prints the reply, with or without the interface's name")
  func varlink() throws {
    let daemon = try Self.daemon()
    defer { daemon.stop() }
    let environment = ["CRASHD_SOCKET": daemon.socketPath]
    for method in ["Status", "io.crashshield.Crashd.Status"] {
      let result = try Self.crashctl(["varlink", "call", "--json=short", method], environment: environment)
      #expect(result.status == 0 && result.output.contains("\"reports\":"), "\(result.complaint)")
    }
    let stream = try Self.crashctl(
      ["varlink", "call", "--more", "--json=short", "Subscribe", "{}"], environment: environment)
    #expect(stream.output.hasPrefix("{\"ready\":true}\n"))
    for parameters in ["{", "[]", "7"] {
      let wrong = try Self.crashctl(["varlink", "call", "Status", parameters], environment: environment)
      #expect(wrong.status == 2 && wrong.output.isEmpty)
      #expect(wrong.complaint.contains("{\"pid\": 7}"))
    }
    let missing = try Self.crashctl(["varlink", "call", "Get", #"{"id":"zz"}"#], environment: environment)
    #expect(missing.status == 1)
    #expect(
      missing.complaint == "crashctl: no report has the id, pid, program, unit or group 'zz': see crashctl list\n")
  }

  @Test(
    "dump writes each format to a file that only its owner can read",
    arguments: [
      ("json", #"{"#), ("text", "An index was out of range in checkout()."), ("apple", "Incident Identifier:"),
      ("html", "<!DOCTYPE html>"), ("minidump", "MDMP"),
    ])
  func dump(format: String, start: String) throws {
    let daemon = try Self.daemon()
    defer { daemon.stop() }
    let path = "/tmp/cs-dump-\(UUID().uuidString.prefix(8))"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let result = try Self.crashctl(["dump", "--format", format, "-o", path, "--socket", daemon.socketPath])
    #expect(result.status == 0 && result.output.isEmpty, "\(result.complaint)")
    let bytes = try #require(FileManager.default.contents(atPath: path))
    #expect(String(decoding: bytes, as: UTF8.self).hasPrefix(start))
    #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
    let piped = try Self.crashctl(["dump", "--format", format, "--socket", daemon.socketPath])
    #expect(piped.output == String(decoding: bytes, as: UTF8.self))
    let nowhere = try Self.crashctl(["dump", "-o", "/nowhere/x", "--socket", daemon.socketPath])
    #expect(nowhere.status == 1 && nowhere.complaint.hasPrefix("crashctl: cannot write '/nowhere/x' ("))
  }

  @Test("'processes' without attached processes exits with 1, and prints an empty list in JSON")
  func noProcesses() throws {
    let daemon = try Self.daemon()
    defer { daemon.stop() }
    let result = try Self.crashctl(["processes", "--json=short", "--socket", daemon.socketPath])
    #expect(result.status == 1)
    #expect(result.output == "[]\n")
    let excused = try Self.crashctl(["processes", "--exit-zero", "--socket", daemon.socketPath])
    #expect(excused.status == 0 && excused.complaint.contains("no process is attached"))
  }

  @Test("follow prints one line per crash, and exits with 3 when crashd exits")
  func follow() throws {
    let daemon = try Self.daemon()
    defer { daemon.stop() }
    let result = try Self.crashctl(["follow", "--socket", daemon.socketPath])
    #expect(result.status == 3)
    #expect(result.output.split(separator: "\n").count == 1)
    #expect(result.output.contains("shop[4711] SIGILL An index was out of range in checkout(). Cart.swift:42 bb22"))
    let json = try Self.crashctl(["follow", "--json=short", "--socket", daemon.socketPath])
    #expect(json.output.hasPrefix(#"{"cursor":"2","report":{"#))
  }

  @Test("follow reconnects after the last event that it printed, as long as new events arrive")
  func cutOff() throws {
    let daemon = try FakeDaemon { connection in
      guard let call = connection.call() else { return }
      connection.reply(#"{"ready":true,"cursor":"1"}"#, continues: true)
      if call.contains(#""cursor":"3""#) { return }
      let cursor = call.contains(#""cursor":"2""#) ? "3" : "2"
      let report = SampleJSON.report(id: "aa\(cursor)")
      connection.reply(#"{"cursor":"\#(cursor)","report":\#(report)}"#, continues: true)
    }
    defer { daemon.stop() }
    let result = try Self.crashctl(["follow", "--socket", daemon.socketPath])
    #expect(result.status == 3)
    #expect(result.output.split(separator: "\n").map { $0.suffix(3) } == ["aa2", "aa3"])
    #expect(result.complaint.contains("closed the connection"))
  }
}
