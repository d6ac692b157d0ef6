import CrashClient
import CrashMaker
import CrashProtocol
import CrashReport
import Glibc
import TestKit
import Testing

/// Tests `crashctl decode` and `crashctl import` on the log of a process that could not reach crashd.
@Suite(.sharedDaemon, .serialized)
struct RecordLineTests {
  private static let mark = "crashshield-record:1:"

  /// Crashes a program that writes a record line to its log, and returns the log and the record line.
  private static func crash(
    _ scenario: String = "array-index", program: String? = nil
  ) async throws -> (pid: pid_t, log: String, line: String) {
    let place = try TestDirectory()
    let environment = try RecordLineRow.environment(in: place, SharedDaemon.current)
    let crash = try await Crasher.run(scenario, environment: environment, program: program)
    let line = try #require(crash.error.split(separator: "\n").first { $0.contains(mark) }, "\(crash.error)")
    return (crash.pid, crash.error, String(line))
  }

  @Test("decode prints the report of the crash in a log, and names the line of the log")
  func text() async throws {
    let crash = try await Self.crash()
    let outcome = try await RecordLog.run(["decode", "-", "--color=never"], crash.log)
    #expect(outcome.status.code == 0, "\(outcome.error)")
    #expect(outcome.output.contains("Index out of range"))
    #expect(outcome.output.contains("imported from a record line"))
    let place = try SourceMark.find("array-index").description
    #expect(outcome.output.contains(place))
  }

  @Test("decode decodes each record of container logs once; for a cut line it prints its number and the reason")
  func formats() async throws {
    let (first, second) = (try await Self.crash(), try await Self.crash("null-write"))
    let log = """
      started
      2026-11-29T12:00:00.123456789Z stderr F \(first.line)
      {"log":"\(second.line)\\n","stream":"stderr","time":"2026-11-29T12:00:00Z"}
      {"timestamp":1764417600000,"message":"\(first.line)","ingestionTime":1764417600001}
      \(first.line.dropLast(7))
      \(Self.mark)AAAA
      crashshield-record:9:AAAA
      """
    let outcome = try await RecordLog.run(["decode", "-", "--json=short"], log)
    #expect(outcome.status.code == 0)
    #expect(outcome.output.split(separator: "\n").count == 2)
    let reasons = outcome.error.replacing("\n  ", with: " ")
    #expect(reasons.contains("line 5 of standard input: refused a record, because it is cut"), "\(reasons)")
    #expect(reasons.contains("line 6 of standard input: refused a record, because its length"), "\(reasons)")
    #expect(reasons.contains("line 7 of standard input: refused a record, because it has version '9'"), "\(reasons)")
  }

  @Test("decode and import exit with 1 if the log has no complete record line or does not exist")
  func nothing() async throws {
    let none = try await RecordLog.run(["decode", "-"], "started\n")
    #expect(none.status.code == 1 && none.output.isEmpty && none.error.contains("no record line"))
    let cut = try await RecordLog.run(["import", "-"], "\(Self.mark)AAAA\n")
    #expect(cut.status.code == 1 && cut.error.contains("no whole record line"))
    #expect(try await RecordLog.run(["decode", "/nowhere/log"], "").status.code == 1)
  }

  @Test("import stores a record once in the running crashd, as a report of the user who imports it")
  func importing() async throws {
    let daemon = try SharedDaemon.current
    let crash = try await Self.crash()
    let environment = ["CRASHD_SOCKET": daemon.place.varlinkSocket]
    for words in ["imported ", "already stored "] {
      let outcome = try await RecordLog.run(["import", "-"], crash.log, environment: environment)
      #expect(outcome.status.code == 0 && outcome.output.hasPrefix(words), "\(outcome.output)\(outcome.error)")
    }
    let client = daemon.client
    let reports = try client.list().filter { $0.pid == Int(crash.pid) }
    #expect(reports.count == 1)
    #expect(try client.report(id: reports.first?.id).report.source == .recordLine)
  }

  @Test("decode finds the symbols of a build that is not on this machine", arguments: ["layout", "files", "server"])
  func symbols(source: String) async throws {
    let directory = try TestDirectory()
    let (program, files) = (directory.path + "/crash-maker", try directory.directory("symbols"))
    let original = try Binaries.path("crash-maker")
    let debugFile = files + "/crash-maker.debug"
    try await ChildProcess.run("/usr/bin/objcopy", ["--only-keep-debug", original, debugFile], in: directory)
    try await ChildProcess.run("/usr/bin/objcopy", ["--strip-all", original, program], in: directory)
    let crash = try await Self.crash(program: program)
    guard unsafe unlink(program) == 0 else { throw SystemError("unlink '\(program)'", errno) }

    let bare = try #require(try await RecordLog.decode(crash.log).first)
    #expect(bare.crashedThread?.topOwnFrame == nil, "\(bare.crashedThread?.listing ?? "")")
    let build = bare.process.buildID
    var (options, server): ([String], Debuginfod?) = (["--symbols", files], nil)
    if source == "layout" {
      _ = try directory.directory("symbols/.build-id")
      let folder = try directory.directory("symbols/.build-id/\(build.prefix(2))")
      guard unsafe rename(debugFile, "\(folder)/\(build.dropFirst(2)).debug") == 0 else {
        throw SystemError("rename '\(debugFile)'", errno)
      }
    } else if source == "server" {
      let running = try Debuginfod(over: files, in: directory)
      (options, server) = (["--debuginfod", running.url], running)
      try await running.awaitBuild(build)
    }
    let decoded = try await RecordLog.decode(crash.log, options)
    try await server?.stop()
    let frame = try #require(decoded.first?.crashedThread?.topOwnFrame)
    let mark = try SourceMark.find("array-index", in: ["CrashMaker"])
    #expect("\(frame.file?.split(separator: "/").last ?? ""):\(frame.line ?? 0)" == mark.description)
  }
}
