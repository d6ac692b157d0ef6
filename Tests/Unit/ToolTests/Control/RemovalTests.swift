import CrashControl
import Foundation
import Synchronization
import TestKit
import Testing

@Suite("crashctl rm, prune, and follow after reports were removed")
struct RemovalTests {
  /// A simulated crashd that refuses the id `zz`.
  ///
  /// To a subscription without the parameter `expired`, it answers that the subscriber's cursor has expired.
  private func daemon() throws -> FakeDaemon {
    try FakeDaemon { connection in
      while let call = connection.call() {
        if call.contains("Crashd.Remove") {
          let isKnown = !call.contains(#""zz""#)
          connection.reply(
            isKnown ? #"{"removed":["aa11","bb22"]}"# : #"{"id":"zz"}"#,
            error: isKnown ? nil : "io.crashshield.Crashd.NoSuchReport")
        } else if call.contains("Crashd.Prune") {
          connection.reply(#"{"removed":\#(call.contains(#""dryRun":true"#) ? 7 : 3)}"#)
        } else if call.contains("Crashd.Subscribe"), !call.contains(#""expired":true"#) {
          connection.reply(#"{"lost":5,"exact":true}"#, error: "io.crashshield.Crashd.CursorExpired")
        } else {
          connection.reply(#"{"ready":true,"lost":5}"#, continues: true)
          connection.reply(#"{"cursor":"2","report":\#(SampleJSON.report(id: "bb22"))}"#, continues: true)
          return
        }
      }
    }
  }

  @Test("rm prints the reports that it removed, and exits with 1 for an unknown report")
  func remove() throws {
    let daemon = try daemon()
    defer { daemon.stop() }
    let result = try CommandLineTests.crashctl(["rm", "aa", "bb", "--socket", daemon.socketPath])
    #expect(result.status == 0 && result.output == "removed aa11\nremoved bb22\n")
    let none = try CommandLineTests.crashctl(["rm", "zz", "--socket", daemon.socketPath])
    #expect(none.status == 1 && none.output.isEmpty)
    #expect(none.complaint == "crashctl: no report has the id, pid, program, unit or group 'zz': see crashctl list\n")
  }

  @Test("prune prints how many reports it removed, or would remove")
  func prune() throws {
    let daemon = try daemon()
    defer { daemon.stop() }
    let prune = ["prune", "--older-than", "7d", "--socket", daemon.socketPath]
    #expect(try CommandLineTests.crashctl(prune).output == "removed 3 reports\n")
    #expect(try CommandLineTests.crashctl(prune + ["--dry-run"]).output == "would remove 7 reports\n")
    let wrong = try CommandLineTests.crashctl(["prune", "--older-than", "soon", "--socket", daemon.socketPath])
    #expect(wrong.status == 2 && wrong.complaint.contains("invalid age or time 'soon'"))
  }

  @Test("follow prints how many crashes were removed before it started, and shows the remaining ones")
  func late() throws {
    let daemon = try daemon()
    defer { daemon.stop() }
    let result = try CommandLineTests.crashctl(["follow", "--subscriber", "mail", "--socket", daemon.socketPath])
    #expect(
      result.complaint.hasPrefix("crashctl: 5 reports were removed before they were read; the remaining ones follow\n"))
    #expect(result.output.contains("checkout()"))
  }

  @Test("follow skips an event that is not a report, acknowledges it, and prints the next one")
  func unreadable() throws {
    let acknowledged = Mutex<[Bool]>([])
    let daemon = try FakeDaemon { connection in
      guard let call = connection.call() else { return }
      if call.contains("Crashd.Ack") {
        acknowledged.withLock { $0.append(call.contains(#""cursor":"2""#)) }
        return connection.reply(#"{"cursor":"2"}"#)
      }
      connection.reply(#"{"ready":true,"cursor":"1"}"#, continues: true)
      connection.reply(#"{"cursor":"2","report":{"id":"aa"}}"#, continues: true)
      connection.reply(#"{"cursor":"3","report":\#(SampleJSON.report(id: "bb22"))}"#, continues: true)
    }
    defer { daemon.stop() }
    let result = try CommandLineTests.crashctl(["follow", "--subscriber", "mail", "--socket", daemon.socketPath])
    #expect(result.complaint.hasPrefix("crashctl: dropped an unreadable report: "), "\(result.complaint)")
    #expect(result.output.hasSuffix("bb22\n") && result.output.split(separator: "\n").count == 1)
    // Compares only the first two acknowledgments, because the client subscribes again after the end of the first
    // stream.
    #expect(acknowledged.withLock { $0.prefix(2) } == [true, false])
  }

  @Test(
    "an age such as 3d is parsed with its unit",
    arguments: zip(
      ["90s", "15m", "12h", "7d", "4w", "7", "d", "-1d", "99999999999999w"],
      [90, 900, 43_200, 604_800, 2_419_200, nil, nil, nil, nil]))
  func ages(text: String, seconds: Int?) {
    #expect(Age.seconds(text) == seconds)
  }
}
