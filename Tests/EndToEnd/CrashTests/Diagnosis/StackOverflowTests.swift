import CrashMaker
import CrashReport
import TestKit
import Testing

/// Tests of endless recursion on each kind of thread.
///
/// The report must have the innermost frames and the outermost frames of the thread.
@Suite(.sharedDaemon, .serialized)
struct StackOverflowTests {
  /// The kinds of threads, with the outermost in-app function of each.
  static let roots: [(CrashRun.Thread, String)] = [
    (.main, "main"), (.dispatch, "crash()"), (.task, "performFault"), (.pthread, "crashInThread"),
    (.smallStack, "crashInThread"),
  ]

  @Test("a stack overflow on each kind of thread is diagnosed as a stack overflow", arguments: roots)
  func overflow(thread kind: CrashRun.Thread, root: String) async throws {
    var programs = [try Binaries.path("crash-maker")]
    if Binaries.areInstalled { try programs.append(Binaries.optimizedCrashMaker()) }
    let daemon = try SharedDaemon.current
    for program in programs {
      let crash = try await Crasher.run(
        "stack-overflow", ["--wait-attached", "--thread", kind.rawValue], environment: daemon.place.environment,
        program: program)
      #expect(crash.status.signal == 11, "\(crash.status): \(crash.error)")
      let reports = try await daemon.reports(of: crash.pid)
      #expect(reports.count == 1)
      let report = try #require(reports.first)
      let thread = try #require(report.crashedThread)
      #expect(report.diagnosis.rule == "stack-overflow", "\(report.diagnosis.sentence)")
      let head = thread.stackFrames.prefix(60)
      #expect(head.allSatisfy { $0.function == "cs_fault_stack_overflow_descend" }, "\(thread.listing)")
      let tail = thread.stackFrames.suffix(20)
      #expect(tail.contains { $0.function.contains(root) }, "\(thread.listing)")
      // The last frame is the first function of the thread, which is in glibc. It has no name if the debug file of
      // glibc is not installed.
      let last = try #require(thread.stackFrames.last)
      #expect(last.function == "_start" || last.image?.hasSuffix("/libc.so.6") == true, "\(thread.listing)")
      #expect((thread.framesOmitted ?? 0) > 0 || kind == .smallStack)
      // If a task recurses, the outermost frames must include the async functions that await it.
      if kind == .task { #expect(thread.frames.contains { $0.isAsync && $0.function.contains("handleRequest") }) }
    }
  }

  @Test("a stack overflow on a NIO event loop is diagnosed as a stack overflow")
  func eventLoop() async throws {
    let daemon = try SharedDaemon.current
    let server = try await DemoServerProcess.start(environment: daemon.place.environment)
    let answer = try await server.get("/catalog/stack-overflow")
    #expect(answer.isEmpty, "the server answered: \(answer)")
    try await server.process.wait()
    let report = try #require(try await daemon.reports(of: server.process.pid).first)
    let thread = try #require(report.crashedThread)
    #expect(report.diagnosis.rule == "stack-overflow", "\(report.diagnosis.sentence)")
    #expect(thread.stackFrames.prefix(100).contains { $0.function == "Catalog.depth(of:)" }, "\(thread.listing)")
    #expect(thread.stackFrames.suffix(40).contains { $0.function.contains("SelectableEventLoop") }, "\(thread.listing)")
  }

  @Test("with CRASHSHIELD_ALTSTACKS=0 a stack overflow is an unreported exit")
  func switchedOff() async throws {
    let daemon = try SharedDaemon.current
    let crash = try await Crasher.run(
      "stack-overflow", ["--wait-attached", "--thread", "pthread"],
      environment: daemon.place.environment.merging(["CRASHSHIELD_ALTSTACKS": "0"]) { $1 })
    #expect(crash.status.signal == 11, "\(crash.status): \(crash.error)")
    let reports = try await daemon.reports(of: crash.pid)
    #expect(reports.map(\.kind) == [.silent] && reports.map(\.signal.name) == ["SIGSEGV"])
    #expect(reports.first?.diagnosis.cause == "handler-did-not-run")
  }
}
