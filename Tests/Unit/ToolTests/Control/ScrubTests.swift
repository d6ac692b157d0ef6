import Foundation
import Synchronization
import TestKit
import Testing

@Suite("crashctl export and dump --scrub")
struct ScrubTests {
  /// Runs crashctl.
  ///
  /// Returns its result, and the requests for reports that it sent.
  ///
  /// With `refuses`, the daemon behaves like a crashd that is too old to scrub reports.
  private func run(
    _ words: [String], refuses: Bool = false
  ) throws -> (result: CommandLineTests.Result, calls: [String]) {
    let calls = Mutex<[String]>([])
    let daemon = try FakeDaemon { connection in
      while let call = connection.call() {
        if call.contains("Crashd.List") {
          let summary = SampleJSON.summary(id: "bb22", cursor: "1")
          connection.reply(#"{"reports":[\#(call.contains(#""before""#) ? "" : summary)]}"#)
          continue
        }
        calls.withLock { $0.append(call) }
        if refuses {
          connection.reply(#"{"parameter":"scrub"}"#, error: "org.varlink.service.InvalidParameter")
        } else if call.contains(#""stacks":true"#) {
          connection.reply(#"{"report":\#(SampleJSON.report(id: "bb22")),"stacks":[]}"#)
        } else {
          connection.reply(#"{"report":\#(SampleJSON.report(id: "bb22"))}"#)
        }
      }
    }
    defer { daemon.stop() }
    let result = try CommandLineTests.crashctl(words + ["--socket", daemon.socketPath])
    return (result, calls.withLock { $0 })
  }

  @Test("crashctl requests a scrubbed report only with --scrub", arguments: [["export"], ["dump"], ["dump", "bb"]])
  func asked(verb: [String]) throws {
    let plain = try run(verb)
    #expect(plain.result.status == 0 && plain.calls.allSatisfy { !$0.contains("scrub") } && plain.calls.count == 1)
    let scrubbed = try run(verb + ["--scrub"])
    #expect(scrubbed.result.status == 0 && scrubbed.result.output.contains("bb22"))
    #expect(scrubbed.calls.count == 1 && scrubbed.calls[0].contains(#""scrub":true"#))
  }

  @Test("a scrubbed minidump has no stacks, and dump can write into an existing pipe")
  func minidump() throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "cs-scrub-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: directory) }
    let file = directory.appending(path: "dump").path
    let pipe = directory.appending(path: "pipe").path
    try FileManager.default.createSymbolicLink(atPath: pipe, withDestinationPath: "/dev/stdout")
    let dump = ["dump", "--format", "minidump", "-o"]
    #expect(try run(dump + [file]).calls.count { $0.contains(#""stacks":true"#) } == 1)
    let scrubbed = try run(dump + [file, "--scrub"])
    #expect(scrubbed.result.status == 0 && scrubbed.calls.allSatisfy { !$0.contains("stacks") })
    #expect(FileManager.default.contents(atPath: file)?.starts(with: Data("MDMP".utf8)) == true)
    #expect(try run(dump + [pipe]).result.output.hasPrefix("MDMP"))
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: pipe) == "/dev/stdout")
    #expect(Set(try FileManager.default.contentsOfDirectory(atPath: directory.path)) == ["dump", "pipe"])
  }

  @Test("export --scrub writes nothing if crashd does not support scrubbing", arguments: [["export"], ["dump"]])
  func refused(verb: [String]) throws {
    let result = try run(verb + ["--scrub"], refuses: true).result
    #expect(result.status == 2 && result.output.isEmpty)
    #expect(result.complaint.contains("invalid parameter 'scrub'"))
  }
}
