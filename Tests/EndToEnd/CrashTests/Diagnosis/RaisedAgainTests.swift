#if arch(x86_64)
  import CrashReport
  import Glibc
  import TestKit
  import Testing

  /// Tests programs that install their own signal handler after the shield's.
  ///
  /// This handler restores the shield's handler and re-raises the signal.
  @Suite
  struct RaisedAgainTests {
    /// The crashes: the fault, how the program's handler re-raises the signal, and the cause and the function that the
    /// report must have.
    private static let crashes: [(kind: String, handler: String, cause: CrashReport.Cause, function: String)] =
      [
        ("null-write", "null-pointer", "null_write"), ("wild-read", "wild-pointer", "wild_read"),
        ("non-canonical", "non-canonical", "non_canonical"), ("null-call", "null-call", "null_call"),
        ("trap", "trap", "trap"), ("unknown-instruction", "illegal-instruction", "unknown_instruction"),
        ("privileged-instruction", "privileged-instruction", "privileged_instruction"),
        ("breakpoint", "breakpoint", "breakpoint"), ("division", "integer-division", "division"),
        ("truncated", "truncated-mapping", "truncated"), ("overflow", "stack-overflow", "descend"),
      ].map { ($0.0, "return", $0.1, $0.2) } + [
        ("overflow", "stack", "stack-overflow", "descend"), ("overflow", "siginfo", "stack-overflow", "descend"),
        ("overflow", "kill", "stack-overflow", "descend"), ("overflow", "abort", "stack-overflow", "descend"),
        ("trap", "abort", "trap", "trap"), ("wild-read", "kill", "wild-pointer", "wild_read"),
        ("division", "unmasked", "integer-division", "division"),
        ("breakpoint", "unmasked", "breakpoint", "breakpoint"),
        ("truncated", "unmasked", "truncated-mapping", "truncated"),
        ("null-call", "unmasked", "null-call", "null_call"),
        // In these crashes, the program survives the fault, and later sends itself a signal.
        ("survived", "return", "raised-signal", "survived"), ("touched", "return", "abort", "touched"),
      ]

    @Test("D6: the first fault is reported, also if the shield gets its signal after the program's handler")
    func causes() async throws {
      let directory = try TestDirectory()
      let library = try await Binaries.preloadLibrary()
      let program = directory.path + "/again"
      try await ChildProcess.run(
        "/usr/bin/env",
        [
          "clang", "-g", "-O1", "-D_GNU_SOURCE", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls",
          "-Wl,--build-id", SourceMark.package + "/Tests/Kit/Support/reraise/again.c", "-o", program,
        ], in: directory)
      try await PrivateDaemon.run { daemon in
        let environment = daemon.place.environment.merging(["LD_PRELOAD": library]) { $1 }
        for crash in Self.crashes {
          let process = try ChildProcess.start(
            program, [crash.kind, crash.handler],
            ChildProcess.Options(environment: environment, errorPath: directory.path + "/error"))
          let name = "\(crash.kind) \(crash.handler)"
          #expect(try await process.wait().signal != 0, "\(name)")
          let reports = try await daemon.reports(of: process.pid)
          #expect(reports.count == 1, "\(name)")
          let report = try #require(reports.first, "\(name)")
          let sentence = report.diagnosis.sentence
          #expect(report.diagnosis.cause == crash.cause, "\(name): \(sentence)")
          let top = try #require(report.threads.first?.frames.first { $0.isOwn }, "\(name): \(sentence)")
          #expect(top.function == crash.function, "\(name): \(sentence)")
          #expect((report.raisedAgain == nil) == ["raised-signal", "abort"].contains(crash.cause), "\(name)")
          if crash.cause == "stack-overflow" { #expect(sentence.contains("calls deep"), "\(name): \(sentence)") }
        }
      }
    }
  }
#endif
