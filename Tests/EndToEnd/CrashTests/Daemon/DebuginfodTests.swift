import CrashClient
import CrashProtocol
import CrashReport
import Glibc
import TestKit
import Testing

/// Tests of a stripped program.
///
/// A local debuginfod server has its debug information.
@Suite
struct DebuginfodTests {
  @Test("a stripped program's report has the source line if a server has the debug information")
  func lines() async throws {
    let directory = try TestDirectory()
    let (program, files) = (directory.path + "/crash-maker", try directory.directory("debug"))
    let original = try Binaries.path("crash-maker")
    try await run("/usr/bin/objcopy", ["--only-keep-debug", original, files + "/crash-maker.debug"], in: directory)
    try await run("/usr/bin/objcopy", ["--strip-debug", original, program], in: directory)

    // Without a debuginfod server, the frame has a function name but no line.
    let bare = try await PrivateDaemon.run { try await crash(program, $0) }
    #expect(bare.crashedThread?.topOwnFrame.map { $0.file == nil && !$0.function.isEmpty } == true)

    let server = try Debuginfod(over: files, in: directory)
    do {
      try await server.awaitBuild(bare.process.buildID)
      try await PrivateDaemon.run(options: ["--debuginfod-urls", server.url]) { daemon in
        let report = try await crash(program, daemon)
        // crashd stores the report before a server responds, and symbolicates it again after the response.
        let better = try await withLines(report.id, daemon)
        #expect(try daemon.client.status().debugInformation?["fetched"] == 1)
        let frame = try #require(better.crashedThread?.topOwnFrame)
        let mark = try SourceMark.find("array-index", in: ["CrashMaker"])
        let file = frame.file?.split(separator: "/").last ?? ""
        #expect("\(file):\(frame.line ?? 0)" == mark.description, "\(better.crashedThread?.listing ?? "")")
      }
    } catch {
      try await server.stop()
      throw error
    }
    try await server.stop()
  }

  private func crash(_ program: String, _ daemon: PrivateDaemon) async throws -> CrashReport {
    let crash = try await Crasher.run(
      "array-index", ["--wait-attached"], environment: daemon.place.environment, program: program)
    return try #require(try await daemon.reports(of: crash.pid).first)
  }

  /// Waits until the topmost in-app frame of the report has a line, and returns the report.
  private func withLines(_ id: String, _ daemon: PrivateDaemon) async throws -> CrashReport {
    let client = daemon.client
    return try await blocking {
      // Subscribes before it reads the report, so that it misses no change of the report.
      let events = try client.subscribe()
      while let event = try events.next(timeout: .seconds(Patience.slices)) {
        var report: CrashReport?
        switch event {
        case .ready: report = try client.report(id: id).report
        case .report(let received, _): if received.report.id == id { report = received.report }
        }
        if let report, report.crashedThread?.topOwnFrame?.line != nil { return report }
      }
      throw SystemError("crashd ended the stream before report \(id) had lines", 0)
    }
  }

  private func run(_ program: String, _ arguments: [String], in directory: TestDirectory) async throws {
    let errorPath = directory.path + "/error"
    let process = try ChildProcess.start(program, arguments, ChildProcess.Options(errorPath: errorPath))
    let status = try await process.wait()
    let error = try contents(of: errorPath)
    try #require(status.code == 0, "\(program): \(status): \(error)")
  }
}
