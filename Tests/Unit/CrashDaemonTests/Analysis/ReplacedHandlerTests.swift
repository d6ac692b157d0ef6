import CrashReport
@testable import CrashRing
import CrashSymbols
import Glibc
import TestKit
import Testing

@testable import CrashDaemon

@Suite("Handlers that replaced the shield's handlers")
struct ReplacedHandlerTests {
  @Test("a report names a handler that replaced the shield's handler by its image and function")
  func named() throws {
    let symbols = SampleSymbols(chains: [0x20: [SourceFrame(mangled: "on_crash")]])
    var contents = RingContents.sample([.sample(frames: [.at(0x10010, exact: true)])])
    contents.replacedHandlers = [
      ReplacedHandler(signal: SIGSEGV, kind: .handler, address: 0x10020, image: contents.images.first?.index),
      ReplacedHandler(signal: SIGABRT, kind: .ignored),
      ReplacedHandler(signal: SIGBUS, kind: .handler, address: 0x20, image: 4711),
    ]
    let report = try #require(contents.report(symbols))
    let image = try #require(contents.images.first)
    #expect(
      report.replacedHandlers == [
        CrashReport.ReplacedHandler(
          signal: "SIGSEGV", kind: "handler", address: 0x10020, image: image.path, function: "on_crash"),
        CrashReport.ReplacedHandler(signal: "SIGABRT", kind: "ignored"),
        CrashReport.ReplacedHandler(signal: "SIGBUS", kind: "handler", address: 0x20),
      ])
    contents.replacedHandlers = []
    #expect(try #require(contents.report(symbols)).replacedHandlers == nil)
  }
}
