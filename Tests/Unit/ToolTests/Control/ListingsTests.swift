import CrashControl
import CrashProtocol
import Foundation
import TestKit
import Testing

@Suite("Listings")
struct ListingsTests {
  private func summary(name: String = "shop", function: String = "checkout()") throws -> ReportSummary {
    var summary = try JSONDecoder().decode(
      ReportSummary.self, from: Data(SampleJSON.summary(id: String(repeating: "ab", count: 16), cursor: "c").utf8))
    summary.name = name
    summary.function = function
    return summary
  }

  @Test("no line of a listing is wider than the terminal", arguments: [60, 80, 100, 160])
  func width(columns: Int) throws {
    let long = try summary(name: String(repeating: "n", count: 90), function: String(repeating: "f", count: 300))
    let text = Listings.reports(
      [long, try summary()], terminal: Terminal(width: columns, hasColor: false), legend: true)
    let lines = text.split(separator: "\n")
    #expect(lines.count == 4 && lines[3].hasPrefix("All rows: uid 1000, signal SIGILL"), "\(text)")
    for line in lines { #expect(line.count <= columns, "\(line)") }
    // At each of these widths, the listing shows the report's id and its source line.
    #expect(lines[2].contains("abababab"))
    #expect(lines[2].contains("Cart.swift:42"))
  }

  private static let now = Clock(now: 1_795_248_611 + 300, isUTC: true)

  @Test("on a terminal a list shows ages, and adjacent crashes of one group as one line with their count")
  func overview() throws {
    let reports = try ["a", "b"].map { function in
      var own = try summary(function: function)
      own.groupKey = function
      return own
    }
    let all = [reports[0], reports[0], reports[1], reports[0]]
    let terminal = Terminal(width: 120, hasColor: false, clock: Self.now)
    let lines = Listings.reports(all, terminal: terminal, legend: false).split(separator: "\n")
    #expect(lines.count == 3 && lines[0].contains(" 5m ×2 ") == false, "\(lines)")
    #expect(lines[0].hasPrefix("5m ×2 ") && lines[1].hasPrefix("5m    "), "\(lines)")
    let piped = Listings.reports(all, terminal: Terminal(width: nil, hasColor: false, clock: Self.now), legend: true)
    #expect(piped.split(separator: "\n").count == 5 && piped.hasPrefix("TIME "))
    #expect(piped.contains("2026-11-21 08:10:11 UTC 4711 1000 SIGILL shop"))
    var whole = terminal
    whole.isBrief = false
    let lengthy = Listings.reports(all, terminal: whole, legend: false)
    #expect(lengthy.split(separator: "\n").count == 4 && lengthy.contains("2026-11-21 08:10:11 UTC"))
  }

  @Test("a column with equal values becomes a line below the table, except in pipes and one-row tables")
  func common() throws {
    let other = try summary(name: "till", function: "b")
    let table = { (rows: [ReportSummary], width: Int?) in
      Listings.reports(rows, terminal: Terminal(width: width, hasColor: false, clock: Self.now), legend: true)
    }
    let two = try table([summary(), other], 120)
    #expect(two.hasSuffix("All rows: uid 1000, signal SIGILL\n") && !two.contains("UID") && two.contains("NAME"))
    #expect(try table([summary()], 120).contains("UID"))
    let piped = try table([summary(), other], nil)
    #expect(piped.contains("UID") && !piped.contains("All rows"))
  }

  @Test("a list has a column for pod or container, if any crash has one")
  func containers() throws {
    var (pod, container) = (try summary(), try summary(name: "till", function: "b"))
    (pod.pod, pod.containerID) = ("shop-7c5", String(repeating: "c", count: 64))
    container.containerID = String(repeating: "d", count: 64)
    let terminal = Terminal(width: 200, hasColor: false, clock: Self.now)
    let text = Listings.reports([pod, container, try summary()], terminal: terminal, legend: true)
    let lines = text.split(separator: "\n")
    #expect(lines[0].contains(" CONTAINER "), "\(text)")
    #expect(lines[1].contains(" shop-7c5 ") && lines[2].contains(" dddddddddddd "), "\(text)")
    #expect(!Listings.reports([try summary()], terminal: terminal, legend: true).contains("CONTAINER"))
  }

  @Test("a list of processes has a column for pod or container, if any process has one")
  func processContainers() throws {
    let json = { (more: String) in
      #"{"pid":7,"uid":1000,"name":"shop","executable":"/srv/shop","buildID":"ab","startTime":"2026-11-21T08:00:00Z","#
        + #""attachTime":"2026-11-21T08:00:00Z","state":"attached"\#(more)}"#
    }
    let list = { (more: [String]) in
      Listings.processes(
        try more.map { try JSONDecoder().decode(ProcessSummary.self, from: Data(json($0).utf8)) },
        terminal: Terminal(width: 160, hasColor: false, clock: Self.now), legend: true)
    }
    let text = try list([#","pod":"shop-7c5""#, #","containerID":"0123456789abcdef""#, ""])
    #expect(text.contains(" CONTAINER ") && text.contains(" shop-7c5 ") && text.contains(" 0123456789ab "), "\(text)")
    #expect(try !list([""]).contains("CONTAINER"))
  }

  @Test("listings written to a pipe are not truncated")
  func pipe() throws {
    let function = String(repeating: "f", count: 300)
    let text = Listings.reports(
      [try summary(function: function)], terminal: Terminal(width: nil, hasColor: false), legend: false)
    #expect(text.contains(function))
    #expect(text.contains("Fatal error: Index out of range"))
    #expect(text.split(separator: "\n").count == 1)
  }

  @Test("listings without color have no escape sequences; with color each sequence is closed")
  func color() throws {
    let plain = Listings.reports([try summary()], terminal: Terminal(width: 80, hasColor: false), legend: true)
    #expect(!plain.contains("\u{1b}"))
    let colored = Listings.reports([try summary()], terminal: Terminal(width: 80, hasColor: true), legend: true)
    let resets = colored.components(separatedBy: "\u{1b}[0m").count - 1
    #expect(resets > 0)
    #expect(colored.components(separatedBy: "\u{1b}[").count - 1 == 2 * resets)
  }

  @Test("follow prints the source location of a crash once")
  func placeOnce() throws {
    let json = SampleJSON.report(id: "bb22").replacing("in checkout().", with: "in checkout() (Cart.swift:42).")
    let received = try JSONDecoder().decode(ReceivedReport.self, from: Data(json.utf8))
    let line = Listings.line(received, terminal: Terminal(width: nil, hasColor: false))
    #expect(line.hasSuffix("An index was out of range in checkout() (Cart.swift:42). bb22\n"))
  }

  @Test("a program's name cannot put escape sequences or line breaks into a listing")
  func hostileName() throws {
    let hostile = try summary(name: "a\u{1b}[2J\nb\u{9b}1m\u{202e}c")
    let text = Listings.reports([hostile], terminal: Terminal(width: nil, hasColor: false), legend: false)
    #expect(text.split(separator: "\n").count == 1)
    for scalar in text.unicodeScalars.dropLast() {
      #expect(scalar.value >= 0x20 && !(0x7f...0x9f).contains(scalar.value) && scalar.value != 0x202e)
    }
  }

  @Test("JSON for a terminal encodes the same value without raw control characters")
  func json() throws {
    let name = "a\u{1b}[2J\u{9b}1m\u{202e}c\u{7f}"
    let text = try JSONStyle.short.text([name])
    #expect(text.hasSuffix("\n"))
    #expect(text.unicodeScalars.dropLast().allSatisfy { (0x20..<0x7f).contains($0.value) })
    #expect(try JSONDecoder().decode([String].self, from: Data(text.utf8)) == [name])
  }

  @Test("status begins with a verdict, and explains each loss")
  func status() throws {
    var status = try JSONDecoder().decode(DaemonStatus.self, from: Data(SampleJSON.status.utf8))
    status.losses["overwritten"] = 0
    status.uptimeSeconds = 93_784
    status.storeBytes = 5_300_000
    let terminal = Terminal(width: 90, hasColor: false)
    let text = { (status: DaemonStatus, verbose: Bool) in
      StatusText.text(status, socketPath: "/run/s", terminal: terminal, verbose: verbose)
    }
    let some = text(status, false)
    #expect(some.hasPrefix("INCOMPLETE: crashd works; since it started, something was lost\n"))
    #expect(
      some.contains("losses  1 crash whose record was not finished. Nothing to do while it is rare.\n"), "\(some)")
    #expect(some.contains("processes  2 attached, 1 ending\n"))
    #expect(!some.contains("overwritten") && !some.contains("refusals") && !some.contains("access"))
    #expect(some.contains("up 1d 2h\n") && some.contains("5.1 MiB\n"))
    for line in some.split(separator: "\n") { #expect(line.count <= 90) }
    #expect(text(status, true).contains("counters  torn 1\n") && text(status, true).contains("refusals  none\n"))
    status.losses = [:]
    #expect(text(status, false).hasPrefix("OK: crashd works, and lost nothing since it started\n"))
    status.trouble = ["the disk is full"]
    #expect(text(status, false).hasPrefix("DEGRADED: "))
  }

  @Test("status shows whose crashes the caller may see, and which users may see all")
  func access() throws {
    let text = { (access: String) in
      let json = SampleJSON.status.dropLast() + ",\"access\":\(access)}"
      let status = try JSONDecoder().decode(DaemonStatus.self, from: Data(json.utf8))
      return StatusText.text(status, socketPath: "/run/s", terminal: Terminal(width: 200, hasColor: false))
    }
    #expect(
      try text(#"{"uid":1000,"all":false,"group":"crashd"}"#)
        .contains("access  crashes of uid 1000 only; full for root and members of the group 'crashd'\n"))
    #expect(
      try text(#"{"uid":1000,"all":false}"#).contains("crashes of uid 1000 only; full for root\n"))
    #expect(
      try text(#"{"uid":1000,"all":true,"group":"crashd"}"#)
        .contains("full (all crashes), as for root and members of the group 'crashd'\n"))
  }
}
