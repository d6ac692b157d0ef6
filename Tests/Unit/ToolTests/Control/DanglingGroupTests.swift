import CrashProtocol
import CrashReport
import Testing

@testable import CrashControl

@Suite("Groups of uses of dead objects")
struct DanglingGroupTests {
  private static func frame(_ function: String, line: Int? = nil, isOwn: Bool = true) -> CrashReport.Frame {
    CrashReport.Frame(
      address: Address(0x1000), function: function, mangled: function, file: "/src/Shop.swift", line: line,
      image: "/srv/shop", isOwn: isOwn, trust: .cfi)
  }

  private static func incident(
    _ key: String, ring: String = "aa", kind: String = "call", source: String = "quarantine", count: Int = 1,
    function: String = "serve()", line: Int = 12, subject: String = "App.Session", mode: String = "zero",
    build: String = "b1", last: String = "2026-11-21T10:00:00Z", age_ns: Int = 2_000_000, release: String = "drop()",
    confidence: String = "certain"
  ) -> IncidentReport {
    IncidentReport(
      id: "\(ring)-\(key)", first: "2026-11-21T09:00:00Z", last: last, count: count,
      process: IncidentReport.Process(pid: 7, uid: 0, name: "shop", executable: "/srv/shop", buildID: build),
      source: source, kind: kind, mode: mode, subject: subject, sentence: "", confidence: confidence,
      method: kind == "call" ? "Session.greet()" : nil, useThread: 7,
      use: [frame("swift_retain", isOwn: false), frame(function, line: line)],
      object: IncidentReport.Object(
        address: Address(0x5000), record: 1, age_ns: age_ns, thread: 8, release: [frame(release)]))
  }

  @Test("what several processes and builds did from one function is one group, with what they have in common")
  func together() throws {
    let groups = DanglingGroup.groups(of: [
      Self.incident("1", count: 3, confidence: "probable"),
      Self.incident(
        "2", ring: "bb", count: 4, line: 14, mode: "absorb", build: "b2", last: "2026-11-21T11:00:00Z",
        age_ns: 9_000_000, release: "close()"),
      Self.incident("3", ring: "bb", count: .max, age_ns: 1_000, confidence: "probable"),
    ])
    let group = try #require(groups.first)
    #expect(groups.count == 1 && group.id == "bb-2" && group.processes == 2 && group.builds == 2)
    #expect(group.className == "App.Session" && group.method == "Session.greet()" && group.place == "serve()")
    #expect(group.line == "Shop.swift:14" && group.releases == 2 && group.modes == ["absorb", "zero"])
    #expect(group.age_ns == 2_000_000 && group.confidence == "certain" && group.last == "2026-11-21T11:00:00Z")
    // What a hostile process counts does not trap.
    #expect(group.count == .max)
  }

  @Test("class, kind and place tell groups apart; the one that was seen last comes first")
  func apart() {
    let groups = DanglingGroup.groups(of: [
      Self.incident("1"), Self.incident("2", subject: "App.Cart"), Self.incident("3", kind: "write"),
      Self.incident("4", function: "close()", last: "2026-11-22T10:00:00Z"),
    ])
    #expect(groups.count == 4 && groups.first?.place == "close()")
  }

  @Test("uses in guard slots are among them, but not what reaches past an object, nor what a guard met")
  func slots() {
    let groups = DanglingGroup.groups(of: [
      Self.incident("1", kind: "read", source: "pages"), Self.incident("2", kind: "overflow", source: "pages"),
      Self.incident("3", kind: "index", source: "guard"),
    ])
    #expect(groups.map(\.kind) == ["read"])
  }

  @Test("a line has the count, the class and the place of use")
  func text() {
    let groups = DanglingGroup.groups(of: [Self.incident("1", count: 3), Self.incident("2", count: 4)])
    let text = IncidentText.groups(groups, terminal: Terminal(width: nil, hasColor: false), legend: true)
    let lines = text.split(separator: "\n")
    #expect(lines.count >= 2 && lines[0].contains("HITS") && lines[0].contains("FREED BY"))
    #expect(lines[1].contains("App.Session") && lines[1].contains(" 7 ") && lines[1].contains("2 ms"))
    #expect(lines[1].contains("call of Session.greet() in serve() (Shop.swift:12)"), "\(text)")
  }
}
