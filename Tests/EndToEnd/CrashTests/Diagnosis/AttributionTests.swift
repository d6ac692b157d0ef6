import CrashReport
import Glibc
import TestKit
import Testing

/// Tests of crashes for which the debug information of swiftc has a wrong source location, or none.
@Suite
struct AttributionTests {
  /// The crashes of the test program.
  ///
  /// The report of each crash must name the function `function` and the source line with the comment `mark`.
  private static let crashes: [(argument: String, function: String, mark: String)] = [
    ("half", "unwrapHalf", "half"), ("found", "unwrapFound", "found"), ("element", "unwrapElement", "element"),
    ("color", "unwrapColor", "color"), ("index", "element", "index"), ("implicit", "Screen.width", "implicit"),
    ("several", "several", "several"), ("convenience", "init(text:)", "convenience"),
    ("respond", "respond", "respond"), ("leak-index", "element", "index"),
    // In these crashes, the `!` is on a line below the call whose result it unwraps: the report must name the line of
    // the `!`.
    ("half-below", "unwrapHalfBelow", "half-below"), ("found-below", "unwrapFoundBelow", "found-below"),
    ("element-below", "unwrapElementBelow", "element-below"), ("color-below", "unwrapColorBelow", "color-below"),
    ("closure-below", "closure #1 in unwrapInClosure", "closure-below"),
    ("behind-closure", "unwrapBehindClosure", "behind-closure"), ("chain", "unwrapChain", "chain"),
    ("chain-twice", "unwrapChainTwice", "chain-twice"), ("first", "unwrapFirst", "first"),
  ]
  /// The crashes whose report for an optimized program names another function or line, because the debug information is
  /// incomplete, with what it names.
  ///
  /// "chain": the debug information lacks the end of a closure, so the report attributes the `!` in `}!` to the
  /// closure. "first": a check in a runtime function has line 0, so the report shows the line of the call.
  private static let limits = [
    "chain": (function: "closure #1 in unwrapChain", mark: "chain"), "first": ("unwrapFirst", "first-call"),
  ]
  private static let source = SourceMark.package + "/Tests/Kit/Support/attribution/shop.swift"

  @Test(
    "S1, S2, D3, D4, D13: debug and optimized programs' reports name the function and line that failed",
    arguments: ["-Onone", "-O"])
  func places(optimization: String) async throws {
    let directory = try TestDirectory()
    let library = try await Binaries.preloadLibrary()
    let program = directory.path + "/shop"
    try await ChildProcess.run(
      "/usr/bin/env",
      [
        "swiftc", "-g", "-swift-version", "6", "-parse-as-library", "-module-name", "shop", optimization,
        // SwiftPM also passes this option to swiftc.
        "-Xcc", "-fno-omit-frame-pointer", Self.source, "-o", program,
      ], in: directory)
    try await PrivateDaemon.run { daemon in
      let environment = daemon.place.environment.merging(["LD_PRELOAD": library, "SWIFT_BACKTRACE": "enable=no"]) { $1 }
      for crash in Self.crashes {
        let process = try ChildProcess.start(
          program, [crash.argument],
          ChildProcess.Options(environment: environment, errorPath: directory.path + "/error"))
        try #require(try await process.wait().signal != 0)
        // The shell that executes the program also loads the preloaded shield. Its exec must not be reported as an
        // unreported exit, so there is one report.
        let reports = try await daemon.reports(of: process.pid)
        #expect(reports.count == 1, "\(crash.argument)")
        let report = try #require(reports.first, "\(crash.argument)")
        let top = try #require(report.threads.first?.frames.first { $0.isOwn }, "\(crash.argument)")
        let limit = optimization == "-O" ? Self.limits[crash.argument] : nil
        let (function, mark) = limit ?? (crash.function, crash.mark)
        let said = "\(optimization) \(crash.argument): \(report.diagnosis.sentence)"
        #expect(top.function.contains(function), "\(said)")
        #expect(top.function.hasPrefix("closure") == function.hasPrefix("closure"), "\(said)")
        #expect(report.group.title.contains(top.function.replacing(" #1", with: "")), "\(said): \(report.group.title)")
        #expect(top.line == (try Self.line(mark)), "\(said)")
        #expect(report.diagnosis.sentence.contains("shop.swift:\(top.line ?? 0)"))
        if crash.argument == "leak-index" {
          #expect(report.diagnosis.sentence.contains("Index out of range"))
          #expect(report.earlierRuntimeWarnings?.first?.contains("leaked its continuation") == true)
        }
        if crash.argument == "respond" { try Self.expectMiddlewares(of: report, optimization) }
      }
    }
  }

  /// Checks that the report shows both awaiting middlewares with their lines, although their resume addresses have no
  /// line.
  private static func expectMiddlewares(of report: CrashReport, _ optimization: String) throws {
    let waiting = try #require(report.threads.first).frames.filter { $0.isAsync && $0.isOwn }
    for (line, name) in [(try line("tracing"), "tracing"), (try line("account"), "account")] {
      #expect(
        waiting.contains { $0.line == line }, "\(optimization) \(name): \(waiting.map { ($0.function, $0.line) })")
    }
  }

  private static func line(_ mark: String) throws -> Int {
    let lines = try contents(of: source).split(separator: "\n", omittingEmptySubsequences: false)
    return try #require(lines.firstIndex { $0.hasSuffix("// place: \(mark)") }) + 1
  }
}
