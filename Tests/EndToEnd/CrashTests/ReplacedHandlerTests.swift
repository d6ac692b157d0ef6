import CrashMaker
import CrashReport
import TestKit
import Testing

/// Tests signal handlers that a program installs after the shield has installed its own.
@Suite(.sharedDaemon, .serialized)
struct ReplacedHandlerTests {
  @Test("the report names a handler that was installed after the shield's handler, and that calls the shield's")
  func chained() async throws {
    let daemon = try SharedDaemon.current
    let crash = try await Crasher.run(
      "handler-chained-after", ["--wait-attached"], environment: daemon.place.environment)
    let report = try #require(try await daemon.reports(of: crash.pid).first)
    let handlers = try #require(report.replacedHandlers)
    #expect(handlers.map(\.signal) == ["SIGSEGV"])
    #expect(handlers.map(\.kind) == ["handler"])
    #expect(handlers.map(\.function) == ["chain"])
    #expect(handlers.first?.image == report.process.executable)
  }

  @Test("the report of a program that replaces no handler lists no replaced handler")
  func untouched() async throws {
    let daemon = try SharedDaemon.current
    let crash = try await Crasher.run("null-write", ["--wait-attached"], environment: daemon.place.environment)
    let report = try #require(try await daemon.reports(of: crash.pid).first)
    #expect(report.replacedHandlers == nil)
  }
}
