import CrashClient
import CrashControl
import CrashProtocol
import Foundation
import TestKit
import Testing

@Suite("crashctl with results of more than one page")
struct PagesTests {
  private static let count = 1_203

  /// A simulated crashd with 1,203 reports.
  ///
  /// It answers `List`, with page sizes and cursors.
  private func daemon(beforePage: @escaping @Sendable (_ number: Int) -> Void = { _ in }) throws -> FakeDaemon {
    try FakeDaemon { connection in
      var calls = 0
      while let call = connection.call() {
        calls += 1
        beforePage(calls)
        guard let value = try? JSONDecoder().decode(JSONValue.self, from: Data(call.utf8)),
          let parameters = value["parameters"]
        else { return }
        if call.contains("Crashd.Groups") {
          let rest = max(0, 150 - (parameters["offset"]?.int ?? 0))
          let groups = Array(repeating: SampleJSON.group, count: min(rest, parameters["limit"]?.int ?? 100))
          connection.reply(#"{"groups":[\#(groups.joined(separator: ","))]}"#)
          continue
        }
        if call.contains("Crashd.DanglingGroups") {
          let first = parameters["offset"]?.int ?? 0
          let page = first..<min(Self.count, first + min(1_000, parameters["limit"]?.int ?? 100))
          connection.reply(#"{"groups":[\#(page.map(Self.danglingGroup).joined(separator: ","))]}"#)
          continue
        }
        let limit = min(1_000, parameters["limit"]?.int ?? 100)
        let isOldestFirst = parameters["oldestFirst"] == .bool(true)
        let cursor = (parameters[isOldestFirst ? "after" : "before"]?.string).flatMap { Int($0) }
        let all = isOldestFirst ? (cursor ?? -1) + 1..<Self.count : 0..<(cursor ?? Self.count)
        let page = isOldestFirst ? Array(all.prefix(limit)) : all.suffix(limit).reversed()
        let reports = page.map { SampleJSON.summary(id: "id\($0)", cursor: "\($0)") }
        let more = parameters["count"] == .bool(true) ? #","more":\#(all.count - page.count)"# : ""
        connection.reply(#"{"reports":[\#(reports.joined(separator: ","))]\#(more)}"#)
      }
    }
  }

  private static func danglingGroup(_ number: Int) -> String {
    #"""
    {"id":"aa-\#(number)","program":"shop","className":"App.Session","kind":"call","place":"serve()","line":"",
    "count":1,"processes":1,"builds":1,"releases":1,"modes":["zero"],"first":"2026-11-21T08:10:11.000000Z",
    "last":"2026-11-21T08:10:11.000000Z","confidence":"certain"}
    """#
  }

  private func ids(_ json: String) throws -> [String] {
    try JSONDecoder().decode([ReportSummary].self, from: Data(json.utf8)).map(\.id)
  }

  @Test("list shows the newest hundred reports, and prints how many more there are")
  func standard() throws {
    let daemon = try daemon()
    defer { daemon.stop() }
    let result = try CommandLineTests.crashctl(["list", "--no-legend", "--socket", daemon.socketPath])
    #expect(result.status == 0)
    let lines = result.output.split(separator: "\n")
    #expect(lines.count == 100 && lines.last?.contains("id1202") == true && lines.first?.contains("id1103") == true)
    #expect(
      result.complaint
        == "crashctl: 1,103 older crashes are not shown: see --all, -n NUMBER, or -S and -U for a time\n")
    let asked = try CommandLineTests.crashctl(["list", "-n", "700", "--no-legend", "--socket", daemon.socketPath])
    #expect(asked.output.split(separator: "\n").count == 700 && asked.complaint.isEmpty)
  }

  @Test("list --all prints every report once, in each format and order")
  func all() throws {
    let daemon = try daemon()
    defer { daemon.stop() }
    let expected = (0..<Self.count).map { "id\($0)" }
    for style in ["short", "pretty"] {
      let json = try CommandLineTests.crashctl(["list", "--all", "--json", style, "--socket", daemon.socketPath])
      #expect(try ids(json.output) == expected && json.complaint.isEmpty)
    }
    let turned = try CommandLineTests.crashctl(["list", "--all", "-r", "--json=short", "--socket", daemon.socketPath])
    #expect(try ids(turned.output) == expected.reversed())
    let text = try CommandLineTests.crashctl(["list", "--all", "--socket", daemon.socketPath])
    // The output has one line per report, and one line with the headings.
    #expect(text.output.split(separator: "\n").count == Self.count + 1)
  }

  @Test("list --all writes each page at once: the first line is printed before the request for the second page")
  func streams() throws {
    let isWritten = DispatchSemaphore(value: 0)
    let daemon = try daemon { number in
      // The simulated crashd answers the request for page 2 only after crashctl has printed its first line. If crashctl
      // does not print it, the wait fails at this timeout.
      if number == 2 { #expect(isWritten.wait(timeout: .now() + 120) == .success) }
    }
    defer { daemon.stop() }
    for style in ["off", "pretty"] {
      let options = style == "off" ? [] : ["--json", style]
      let result = try CommandLineTests.crashctl(
        ["list", "--all", "--socket", daemon.socketPath] + options, afterFirstLine: { _ in isWritten.signal() })
      #expect(result.status == 0)
    }
  }

  @Test("groups prints a note if there are more groups than it shows")
  func groups() throws {
    let daemon = try daemon()
    defer { daemon.stop() }
    let some = try CommandLineTests.crashctl(["groups", "--no-legend", "--socket", daemon.socketPath])
    #expect(some.output.split(separator: "\n").count == 100)
    #expect(some.complaint == "crashctl: older groups are not shown: see -n NUMBER\n")
    let more = try CommandLineTests.crashctl(["groups", "-n", "1000", "--no-legend", "--socket", daemon.socketPath])
    #expect(more.output.split(separator: "\n").count == 150 && more.complaint.isEmpty)
  }

  @Test("dangling can list more than 1,000 groups, and prints a note if it does not show all of them")
  func danglingGroups() throws {
    let daemon = try daemon()
    defer { daemon.stop() }
    let all = try CommandLineTests.crashctl(
      ["dangling", "-n", "2000", "-r", "--json=short", "--socket", daemon.socketPath])
    let found = try JSONDecoder().decode([DanglingGroup].self, from: Data(all.output.utf8))
    #expect(found.map(\.id) == (0..<Self.count).map { "aa-\($0)" } && all.complaint.isEmpty)
    let some = try CommandLineTests.crashctl(["dangling", "--no-legend", "--socket", daemon.socketPath])
    let lines = some.output.split(separator: "\n")
    #expect(lines.count == 100 && lines.last?.contains("aa-0 ") == true)
    #expect(some.complaint == "crashctl: older uses are not shown: see -n NUMBER\n")
  }

  @Test(
    "a JSON array that is written in parts equals an array that is written at once",
    arguments: [JSONStyle.short, .pretty])
  func arrayWriter(style: JSONStyle) throws {
    let values = (0..<5).map { ["key": "\($0)", "[": "]"] }
    for cuts in [[], [5], [2, 0, 3], [1, 1, 1, 1, 1]] {
      var writer = JSONArrayWriter(style)
      var (text, place) = ("", 0)
      for cut in cuts {
        text += try writer.text(Array(values[place..<place + cut]))
        place += cut
      }
      text += try writer.end()
      #expect(text == (try style.text(Array(values[..<place]))))
    }
  }

  @Test(
    "a signal option accepts a name, with and without SIG, or a number",
    arguments: zip(
      ["SIGSEGV", "segv", "11", "Abrt", "sigkill", "0", "-11", "99", "SIGFOO", ""],
      ["SIGSEGV", "SIGSEGV", "SIGSEGV", "SIGABRT", "SIGKILL", nil, nil, nil, nil, nil]))
  func signals(text: String, name: String?) {
    #expect(SignalName.parse(text) == name)
  }

  @Test("a progress bar fits the terminal, and shows counts if the total is unknown", arguments: [20, 40, 80, 200])
  func bar(width: Int) {
    var bar = ProgressBar("export", total: 20_000, width: width)
    for done in [0, 1, 9_999, 20_000, 30_000] { #expect(bar.line(done).count < width) }
    if width >= 80 {
      #expect(bar.line(10_000) == "export [===============               ] 10,000 of 20,000, 50 %")
    }
    bar.total = nil
    #expect(bar.line(1_234) == "export 1,234")
    #expect(!ProgressBar("export", total: 3, width: nil).isShown)
  }
}
