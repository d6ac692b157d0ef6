import CrashClient
import CrashProtocol
import CrashReport
import Foundation
import Synchronization
import TestKit
import Testing

@testable import CrashControl

@Suite("ReportSelector")
struct ReportSelectorTests {
  @Test(
    "a search word is tried as each kind of selector whose form it has",
    arguments: [
      ("14268", ["pid=14268", "name=14268", "unit=14268.service", "group=14268"]),
      ("shop", ["name=shop", "unit=shop.service"]),
      ("shop.service", ["unit=shop.service", "name=shop.service", "unit=shop.service.service"]),
      ("/srv/shop", ["executable=/srv/shop"]), ("CAFE", ["name=CAFE", "unit=CAFE.service", "group=cafe"]),
      // A number with more digits than a pid can have is not tried as a pid.
      ("12345678", ["name=12345678", "unit=12345678.service", "group=12345678"]), ("", []),
    ])
  func meanings(word: String, expected: [String]) {
    var found: [String] = []
    for filter in ReportSelector.filters(word, over: ReportFilter()) {
      if let pid = filter.pid { found.append("pid=\(pid)") }
      if let name = filter.name { found.append("name=\(name)") }
      if let unit = filter.unit { found.append("unit=\(unit)") }
      if let group = filter.group { found.append("group=\(group)") }
      if let path = filter.executable { found.append("executable=\(path)") }
    }
    #expect(found == expected)
  }

  @Test("a word is tried as a pid, then as an id, then as a name; a word that matches nothing is an error")
  func order() throws {
    let calls = Mutex<[String]>([])
    let daemon = try FakeDaemon { connection in
      while let call = connection.call() {
        calls.withLock { $0.append(call) }
        if call.contains("Crashd.List") {
          let isKnown = call.contains(#""pid":4711"#) || call.contains(#""name":"shop""#)
          connection.reply(#"{"reports":[\#(isKnown ? SampleJSON.summary(id: "bb22", cursor: "1") : "")]}"#)
        } else {
          let isKnown = call.contains(#""id":"bb"#)
          connection.reply(
            isKnown ? #"{"report":\#(SampleJSON.report(id: "bb22"))}"# : #"{"id":"x"}"#,
            error: isKnown ? nil : "io.crashshield.Crashd.NoSuchReport")
        }
      }
    }
    defer { daemon.stop() }
    let client = CrashClient(socketPath: daemon.socketPath)
    func id(_ word: String?) throws(ClientError) -> String {
      try ReportSelector.ask(about: word, of: client) { id throws(ClientError) in
        try client.report(id: id ?? "bb").report.id
      }
    }
    for word in ["4711", "bb", "shop", nil] { #expect(try id(word) == "bb22") }
    calls.withLock { $0.removeAll() }
    _ = try id("bb")
    // The word is tried as the id of a report first. Because this succeeds, crashctl requests no list.
    #expect(calls.withLock { $0.contains { $0.contains("Crashd.List") } } == false)
    #expect(throws: ClientError.refused(.noSuchReport(id: "dead"))) { try id("dead") }
    let base = ReportFilter(signal: "SIGILL")
    #expect(try ReportSelector.filter("shop", over: base, of: client) == ReportFilter(name: "shop", signal: "SIGILL"))
    #expect(try ReportSelector.filter(nil, over: base, of: client) == base)
    #expect(try ReportSelector.filter("none", over: base, of: client) == nil)
  }

  /// A simulated crashd without reports and with one incident.
  private static func daemonWithIncident() throws -> FakeDaemon {
    let incident = IncidentReport(
      id: "d2d7f90b0329b8b6-8f1bbcdc00000001", first: "2026-11-21T08:10:11Z", last: "2026-11-21T08:10:11Z", count: 1,
      process: .init(pid: 1, uid: 0, name: "shop", executable: "/srv/shop", buildID: "ab"), source: .isolated,
      kind: .requestTrap, mode: .absorb, subject: "", sentence: "Request GET /cart trapped.", confidence: .certain)
    let json = String(decoding: try JSONEncoder().encode(incident), as: UTF8.self)
    return try FakeDaemon { connection in
      while let call = connection.call() {
        if call.contains("Crashd.List") {
          connection.reply(#"{"reports":[]}"#)
        } else if call.contains("Crashd.Incidents") {
          let isKnown = call.contains(#""id":"d2d7"#) || call.contains(#""id":"8f1b"#)
          connection.reply(#"{"incidents":[\#(isKnown ? json : "")]}"#)
        } else {
          connection.reply(#"{"id":"x"}"#, error: "io.crashshield.Crashd.NoSuchReport")
        }
      }
    }
  }

  @Test(
    "show names the right command for the id of an incident",
    arguments: [
      ("d2d7f90b0329b8b6-8f1bbcdc00000001", true), ("d2d7f90b", true), ("8f1bbcdc", true), ("c0ffee00", false),
      ("-", false), ("shop", false),
    ])
  func incident(word: String, isIncident: Bool) throws {
    let daemon = try Self.daemonWithIncident()
    defer { daemon.stop() }
    let result = try CommandLineTests.crashctl(["show", "--socket", daemon.socketPath, "--", word])
    #expect(result.status == 1)
    #expect(result.complaint.contains("is an incident, not a crash: see crashctl incidents show \(word)") == isIncident)
  }

  @Test("the report of an exit after a crash names the report of the crash", arguments: [true, false])
  func crashBefore(isAfterCrash: Bool) throws {
    let death = #""death":{"signal":9,"dumpedCore":false\#(isAfterCrash ? #","afterCrash":true"# : "")},"#
    let daemon = try FakeDaemon { connection in
      while let call = connection.call() {
        let summaries = [SampleJSON.summary(id: "cc33", cursor: "2"), SampleJSON.summary(id: "bb22", cursor: "1")]
        connection.reply(
          call.contains("Crashd.List")
            ? #"{"reports":[\#(summaries.joined(separator: ","))]}"#
            : #"{"report":\#(SampleJSON.report(id: "cc33", more: death))}"#)
      }
    }
    defer { daemon.stop() }
    let result = try CommandLineTests.crashctl(["show", "cc33", "--socket", daemon.socketPath])
    #expect(result.status == 0, "\(result.complaint)")
    #expect(result.output.contains("\nThe crash before: crashctl show bb22\n\n") == isAfterCrash, "\(result.output)")
  }
}
