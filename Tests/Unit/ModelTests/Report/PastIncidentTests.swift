import CrashReport
import TestKit
import Testing

@Suite("Past incidents in a report")
struct PastIncidentTests {
  private static func incident(_ id: Int, count: Int, mode: IncidentReport.Mode) -> CrashReport.PastIncident {
    CrashReport.PastIncident(
      IncidentReport(
        id: "0123456789abcdef-000000000000000\(id)", first: "2026-11-20T10:00:00.000001Z",
        last: id == 0 ? "2026-11-19T23:59:59.000001Z" : "2026-11-20T11:22:3\(id).000001Z", count: count,
        process: IncidentReport.Process(pid: 7, uid: 0, name: "shop", executable: "/usr/bin/shop", buildID: ""),
        source: "guard", kind: "index", mode: mode, subject: "index 9 of 3",
        sentence: "Index 9 of 3 elements\u{1b}[31m (Shop/Cart.swift:\(id)).", confidence: "certain"))
  }

  private static var report: CrashReport {
    var report = Sample.indexOutOfRange
    report.time = "2026-11-20T12:00:00.000001Z"
    report.incidents = (0..<8).map { incident($0, count: $0 + 1, mode: $0 == 7 ? "observe" : "absorb") }
    report.incidentsOmitted = 3
    return report
  }

  @Test("the text report has the last incidents with count and action, and the number of earlier ones")
  func text() {
    let lines = TextRenderer().render(Self.report).split(separator: "\n")
    #expect(lines.contains("Earlier incidents"))
    #expect(lines.contains("  … 5 earlier"))
    #expect(lines.contains("  11:22:37.000001Z  Index 9 of 3 elements␛[31m (Shop/Cart.swift:7). (observe, 8 times)"))
    #expect(!lines.contains { $0.contains("Cart.swift:1)") })
    let all = TextRenderer(verbose: true).render(Self.report).split(separator: "\n")
    #expect(all.contains("  … 3 earlier"))
    #expect(
      all.contains("  2026-11-19T23:59:59.000001Z  Index 9 of 3 elements␛[31m (Shop/Cart.swift:0). (absorb, once)"))
    #expect(!TextRenderer().render(Sample.indexOutOfRange).contains("Seen by the shield"))
  }

  @Test("the HTML page lists the incidents before the crash")
  func page() {
    let html = HTMLRenderer().render(Self.report)
    #expect(html.contains("<h2>Earlier incidents</h2>"))
    #expect(html.contains("(Shop/Cart.swift:7). (observe, 8 times)</li>") && html.contains("<li>… 3 earlier</li>"))
    #expect(!HTMLRenderer().render(Sample.indexOutOfRange).contains("Seen by the shield"))
  }

  @Test("past incidents are kept in JSON, and their key is absent in a report without past incidents")
  func json() throws {
    let json = try ReportCoding.encode(Self.report)
    #expect(try ReportCoding.decode(json.utf8) == Self.report)
    #expect(try !ReportCoding.encode(Sample.indexOutOfRange).contains("incidents"))
  }
}
