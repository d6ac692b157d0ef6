import CrashProtocol
import CrashReport
import Testing

@testable import CrashControl

@Suite("Incidents that follow one another")
struct IncidentNewsTests {
  private static func incident(_ id: String, _ count: Int, at second: Int) -> IncidentReport {
    let time = "2026-01-01T00:00:0\(second).000000000Z"
    return IncidentReport(
      id: id, first: time, last: time, count: count,
      process: .init(pid: 1, uid: 0, name: "shop", executable: "/srv/shop", buildID: "ab"), source: "guard",
      kind: "index", mode: "absorb", subject: "7 is outside", sentence: "7 is outside.", confidence: "certain",
      site: "Shop/Cart.swift:12")
  }

  @Test("an incident is told once, and again when it was counted on; oldest first")
  func news() {
    var news = IncidentNews()
    #expect(news.since == nil && news.take([]).isEmpty && news.since == nil)
    let both = [Self.incident("b", 1, at: 2), Self.incident("a", 1, at: 1)]
    #expect(news.take(both).map(\.id) == ["a", "b"])
    #expect(news.take(both).isEmpty)
    #expect(news.take([Self.incident("a", 2, at: 3), Self.incident("b", 1, at: 2)]).map(\.id) == ["a"])
  }

  @Test("what was seen a little earlier than what was told is still asked for, and told")
  func late() {
    var news = IncidentNews()
    _ = news.take([Self.incident("a", 1, at: 2)])
    _ = news.take([Self.incident("a", 2, at: 4)])
    #expect(news.since == "2026-01-01T00:00:02.000000000Z")
    #expect(news.take([Self.incident("a", 2, at: 4), Self.incident("b", 1, at: 3)]).map(\.id) == ["b"])
    for _ in 0..<20 { #expect(news.take([Self.incident("a", 2, at: 4)]).isEmpty) }
    #expect(news.since == "2026-01-01T00:00:04.000000000Z")
  }

  @Test("a sum has the columns of what was added up")
  func sums() {
    let sum = IncidentSum(
      source: "guard", kind: "index", place: "Shop/Cart.swift:12", name: "", count: 7, incidents: 2, processes: 2,
      last: "", id: "ab-1")
    let terminal = Terminal(width: nil, hasColor: false)
    let text = IncidentText.sums([sum], by: .site, terminal: terminal, legend: true)
    #expect(text.contains("PLACE") && text.contains("Shop/Cart.swift:12") && !text.contains("NAME"))
    let line = IncidentText.line(Self.incident("a", 3, at: 1), terminal: terminal)
    #expect(line.hasSuffix(" 3× shop (1) guard index: 7 is outside. at Shop/Cart.swift:12\n"))
  }
}
